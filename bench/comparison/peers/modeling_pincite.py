"""Pincite's cross-encoder for transformers, so that peers read pairs with the same weights."""

from __future__ import annotations

from typing import Any

import torch
from transformers import BertConfig, BertModel, BertPreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

CLS, SEP = 101, 102


class PinciteCrossEncoder(BertPreTrainedModel):
    """How well the words of both match after they have read each other, and the pair as a whole."""

    config_class = BertConfig

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config)
        width = config.hidden_size
        self.bert = BertModel(config, add_pooling_layer=False)
        self.gate = torch.nn.Linear(width, 1)
        self.dense = torch.nn.Linear(2 * width, width)
        self.out = torch.nn.Linear(width, 1)
        self.match_scale = torch.nn.Parameter(torch.ones(1))
        self.match_bias = torch.nn.Parameter(torch.zeros(1))
        self.post_init()

    def forward(
        self, input_ids: Any, attention_mask: Any = None, token_type_ids: Any = None, **_: Any
    ) -> SequenceClassifierOutput:
        value = self.bert(input_ids, attention_mask, token_type_ids).last_hidden_state
        is_word = attention_mask.bool() & (input_ids != CLS) & (input_ids != SEP)
        is_question, is_passage = is_word & (token_type_ids == 0), is_word & (token_type_ids == 1)
        unit = torch.nn.functional.normalize(value, dim=-1)
        near = (unit @ unit.transpose(1, 2)).masked_fill(~is_passage[:, None, :], -1)
        weight = torch.exp(self.gate(value).squeeze(-1).clamp(-4, 4)) * is_question
        match = (weight * near.amax(-1)).sum(-1) / weight.sum(-1).clamp(min=1e-6)
        count = is_passage.sum(1, keepdim=True).clamp(min=1)
        mean = (value * is_passage[..., None]).sum(1) / count
        deep = self.out(torch.tanh(self.dense(torch.cat([value[:, 0], mean], -1)))).squeeze(-1)
        logits = self.match_scale * match + deep + self.match_bias
        return SequenceClassifierOutput(logits=logits[:, None])
