"""The catalogue as kernels reach it: levels of the trie, and filters."""
