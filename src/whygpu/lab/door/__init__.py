"""The door in the OpenAI format: models, completions, chat, embeddings."""
