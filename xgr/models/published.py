"""Prompt templates of published projects; each reproduces that project's own prompt string."""

from __future__ import annotations

from typing import Final

from xgr.models.codes import PLACE
from xgr.models.template import PromptTemplate

_LETTERS: Final = ("a", "b", "c", "d", "e")
_INDEX_TOKENS: Final = tuple(f"<{letter}_{PLACE}>" for letter in _LETTERS)

PUBLISHED: Final = {
    template.name: template
    for template in (
        PromptTemplate(name="plain"),
        # The prompt of its evaluate.py; its training tasks word the same question in other ways.
        PromptTemplate(
            name="minionerec",
            instruction="Below is an instruction that describes a task, paired with an input that "
            "provides further context. Write a response that appropriately completes the request. "
            "\n\n### Instruction:\nCan you predict the next possible item that the user may "
            "expect?\n\n",
            prefix="### User Input: \nCan you predict the next possible item the user may expect, "
            "given the following chronological interaction history: ",
            item_separator=", ",
            suffix="\n\n### Response:\n",
            end_tokens=("\n",),
            end_eos=True,
            max_items=10,
            code_tokens=_INDEX_TOKENS,
        ),
        # Its test prompt 0, with its default history of 20 items and no numbering.
        PromptTemplate(
            name="lcrec",
            prefix="Below is an instruction that describes a task. Write a response that "
            "appropriately completes the request.\n\n### Instruction:\nThe user has interacted "
            "with items ",
            item_separator=", ",
            suffix=" in chronological order. Can you predict the next possible item that the user "
            "may expect?\n\n### Response:",
            end_eos=True,
            max_items=20,
            code_tokens=_INDEX_TOKENS,
        ),
        # Video recommendation with the first of its five system and user prompts, in the chat
        # form of its benchmark with thinking off.
        PromptTemplate(
            name="openonerec",
            bos=False,
            prefix="<|im_start|>system\n你是一个智能推荐助手，能够根据用户的浏览历史预测用户可能感兴趣的"
            "下一个内容。<|im_end|>\n<|im_start|>user\n根据以下用户浏览记录，请预测用户接下来可能观看的内容：\n",
            item_prefix="<|sid_begin|>",
            item_suffix="<|sid_end|>",
            suffix="/no_think<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
            begin_tokens=("<|sid_begin|>",),
            end_tokens=("<|sid_end|>",),
            max_items=512,
            code_tokens=tuple(f"<s_{letter}_{PLACE}>" for letter in _LETTERS[:3]),
        ),
    )
}
