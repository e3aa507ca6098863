"""The tiny random checkpoints of make.py: a config and weights of each, in the layout that the Hub has them in.

Sizes are odd on purpose, weights spread wide enough that attention, routing and logits are far from uniform.
"""
import numpy as np
import torch

VOCAB = 97


class Weights:
    """Named tensors, all of values that bf16 holds, unless said otherwise."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.tensors = {}

    def add(self, name, values, dtype=torch.bfloat16):
        self.tensors[name] = torch.from_numpy(np.asarray(values, dtype=np.float32)).to(dtype)

    def matrix(self, name, rows, columns, scale=0.3):
        self.add(name, scale * self.rng.standard_normal((rows, columns)))

    def norm(self, name, size):
        self.add(name, 1 + 0.2 * self.rng.standard_normal(size))

    def bias(self, name, size):
        self.add(name, 0.5 * self.rng.standard_normal(size))

    def mlp(self, prefix, hidden, intermediate, names=("gate_proj", "up_proj", "down_proj")):
        gate, up, down = names
        self.matrix(f"{prefix}.{gate}.weight", intermediate, hidden)
        self.matrix(f"{prefix}.{up}.weight", intermediate, hidden)
        self.matrix(f"{prefix}.{down}.weight", hidden, intermediate)


def attention(w, prefix, c, head_dim, bias, qk_norm):
    hidden, heads, kv_heads = c["hidden_size"], c["num_attention_heads"], c["num_key_value_heads"]
    for part, rows in ("q", heads), ("k", kv_heads), ("v", kv_heads):
        w.matrix(f"{prefix}.{part}_proj.weight", rows * head_dim, hidden)
        if bias:
            w.bias(f"{prefix}.{part}_proj.bias", rows * head_dim)
    w.matrix(f"{prefix}.o_proj.weight", hidden, heads * head_dim)
    if qk_norm:
        w.norm(f"{prefix}.q_norm.weight", head_dim)
        w.norm(f"{prefix}.k_norm.weight", head_dim)


def outside(w, c):
    w.matrix("model.embed_tokens.weight", VOCAB, c["hidden_size"], scale=0.5)
    w.norm("model.norm.weight", c["hidden_size"])
    if not c["tie_word_embeddings"]:
        w.matrix("lm_head.weight", VOCAB, c["hidden_size"], scale=0.4)


def layer_norms(w, prefix, c):
    w.norm(f"{prefix}.input_layernorm.weight", c["hidden_size"])
    w.norm(f"{prefix}.post_attention_layernorm.weight", c["hidden_size"])


def experts(w, prefix, c, count):
    w.matrix(f"{prefix}.gate.weight", count, c["hidden_size"], scale=0.25)
    for e in range(count):
        w.mlp(f"{prefix}.experts.{e}", c["hidden_size"], c["moe_intermediate_size"])


def qwen3_moe(seed, **changes):
    c = {
        "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "vocab_size": VOCAB, "hidden_size": 40,
        "intermediate_size": 28, "moe_intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 12, "num_experts": 6, "num_experts_per_tok": 2, "norm_topk_prob": True,
        "decoder_sparse_step": 1, "mlp_only_layers": [], "attention_bias": False, "hidden_act": "silu",
        "rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "rope_scaling": None, "max_position_embeddings": 128,
        "sliding_window": None, "use_sliding_window": False, "max_window_layers": 2, "tie_word_embeddings": False,
        "bos_token_id": 1, "eos_token_id": 2, "torch_dtype": "bfloat16",
    } | changes
    w = Weights(seed)
    outside(w, c)
    for i in range(c["num_hidden_layers"]):
        layer = f"model.layers.{i}"
        layer_norms(w, layer, c)
        attention(w, f"{layer}.self_attn", c, c["head_dim"], bias=False, qk_norm=True)
        if i in c["mlp_only_layers"] or (i + 1) % c["decoder_sparse_step"] != 0:
            w.mlp(f"{layer}.mlp", c["hidden_size"], c["intermediate_size"])
        else:
            experts(w, f"{layer}.mlp", c, c["num_experts"])
    return c, w


def mixtral(seed):
    c = {
        "architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "vocab_size": VOCAB, "hidden_size": 48,
        "intermediate_size": 20, "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2,
        "num_local_experts": 8, "num_experts_per_tok": 2, "hidden_act": "silu", "rms_norm_eps": 1e-5,
        "rope_theta": 1000000.0, "max_position_embeddings": 128, "sliding_window": None, "tie_word_embeddings": False,
        "bos_token_id": 1, "eos_token_id": 2, "torch_dtype": "bfloat16",
    }
    w = Weights(seed)
    outside(w, c)
    for i in range(c["num_hidden_layers"]):
        layer = f"model.layers.{i}"
        layer_norms(w, layer, c)
        attention(w, f"{layer}.self_attn", c, 8, bias=False, qk_norm=False)
        moe = f"{layer}.block_sparse_moe"
        w.matrix(f"{moe}.gate.weight", c["num_local_experts"], c["hidden_size"], scale=0.25)
        for e in range(c["num_local_experts"]):
            w.mlp(f"{moe}.experts.{e}", c["hidden_size"], c["intermediate_size"], names=("w1", "w3", "w2"))
    return c, w


def glm4_moe_mlp(w, layer, c):
    experts(w, f"{layer}.mlp", c, c["n_routed_experts"])
    # Not rounded: this bias only chooses, and is F32 where the Hub has it.
    w.add(f"{layer}.mlp.gate.e_score_correction_bias", w.rng.uniform(-0.1, 0.4, c["n_routed_experts"]), torch.float32)
    w.mlp(f"{layer}.mlp.shared_experts", c["hidden_size"], c["moe_intermediate_size"] * c["n_shared_experts"])


def glm4_moe(seed, **changes):
    c = {
        "architectures": ["Glm4MoeForCausalLM"], "model_type": "glm4_moe", "vocab_size": VOCAB, "hidden_size": 40,
        "intermediate_size": 36, "moe_intermediate_size": 16, "num_hidden_layers": 3, "num_attention_heads": 6,
        "num_key_value_heads": 2, "head_dim": 8, "partial_rotary_factor": 0.5, "n_routed_experts": 8,
        "num_experts_per_tok": 3, "n_shared_experts": 1, "n_group": 1, "topk_group": 1, "norm_topk_prob": True,
        "routed_scaling_factor": 1.0, "first_k_dense_replace": 1, "attention_bias": False, "use_qk_norm": True,
        "attention_dropout": 0.0, "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
        "rope_scaling": None, "max_position_embeddings": 128, "num_nextn_predict_layers": 0,
        "tie_word_embeddings": False, "eos_token_id": [2, 5], "pad_token_id": 0, "torch_dtype": "bfloat16",
    } | changes
    w = Weights(seed)
    outside(w, c)
    for i in range(c["num_hidden_layers"] + c["num_nextn_predict_layers"]):
        layer = f"model.layers.{i}"
        layer_norms(w, layer, c)
        attention(w, f"{layer}.self_attn", c, c["head_dim"], c["attention_bias"], c["use_qk_norm"])
        if i < c["first_k_dense_replace"]:
            w.mlp(f"{layer}.mlp", c["hidden_size"], c["intermediate_size"])
        else:
            glm4_moe_mlp(w, layer, c)
        if i >= c["num_hidden_layers"]:  # predicts further tokens; no part of the model itself
            w.matrix(f"{layer}.eh_proj.weight", c["hidden_size"], 2 * c["hidden_size"])
            for name in "enorm", "hnorm", "shared_head.norm":
                w.norm(f"{layer}.{name}.weight", c["hidden_size"])
    return c, w


def store_otherwise(w):
    """Some tensors as F16 and F32. Matrices get values that bf16 does not hold; vectors keep the ones they have."""
    for name, tensor in w.tensors.items():
        if name.endswith("e_score_correction_bias"):
            continue
        other = {"embed_tokens": torch.float16, "1.self_attn": torch.float32, "experts.2.": torch.float16,
                 "experts.4.": torch.float32, "model.norm": torch.float32, "2.input_layernorm": torch.float16}
        for part, dtype in other.items():
            if part in name:
                noise = 1e-3 * w.rng.standard_normal(tensor.shape) if tensor.dim() == 2 else 0
                w.add(name, tensor.float().numpy() + noise, dtype)


def glm4_moe_tied(seed):
    c, w = glm4_moe(seed, hidden_size=36, num_attention_heads=3, num_key_value_heads=1, head_dim=12, n_routed_experts=7,
                    num_experts_per_tok=2, num_nextn_predict_layers=1, tie_word_embeddings=True,
                    moe_intermediate_size=12, intermediate_size=28, eos_token_id=2)
    store_otherwise(w)
    return c, w


# By folder: config and weights, and into how many files they go.
CHECKPOINTS = {
    "qwen3-moe": (lambda: qwen3_moe(1), 2),
    "qwen3-moe-dense": (lambda: qwen3_moe(2, hidden_size=36, num_hidden_layers=6, num_attention_heads=3,
                                          num_key_value_heads=1, head_dim=8, decoder_sparse_step=2,
                                          mlp_only_layers=[1], norm_topk_prob=False, num_experts=7,
                                          num_experts_per_tok=3, moe_intermediate_size=20,
                                          rope_theta=10000.0), 1),
    "mixtral": (lambda: mixtral(3), 1),
    "glm4-moe": (lambda: glm4_moe(4, attention_bias=True, use_qk_norm=False, n_group=2, topk_group=1,
                                  routed_scaling_factor=2.5, n_shared_experts=2), 1),
    "glm4-moe-tied": (lambda: glm4_moe_tied(5), 1),
}
