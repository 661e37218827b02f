"""The valid-path mask."""
