"""The portable path: the pipeline's stages in the Array API standard, on any backend."""
