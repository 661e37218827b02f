"""The data of `xgr demo`: a small checkpoint, its catalogue, and customers it was not trained on.

`model/` is a Hugging Face folder, `items.jsonl` the catalogue, `histories.json` held-out users
(item ids, oldest first; the last is the target) and `popularity.json` the counts of the training
users. `examples/train_demo.py` makes all of them.
"""
