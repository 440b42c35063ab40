"""The chapters: the main job's steps, their results, and every sentence in two languages."""
