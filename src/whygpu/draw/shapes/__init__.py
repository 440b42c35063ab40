"""The built-in scenes, each made by formula."""
