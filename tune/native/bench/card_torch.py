"""The products and attention of card.cc by PyTorch, for comparison."""

from functools import partial

import torch


def least_ms(call, repeats: int = 10) -> float:
    for _ in range(3):
        call()
    best = float("inf")
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        end.synchronize()
        best = min(best, start.elapsed_time(end))
    return best


def noise(*shape: int) -> torch.Tensor:
    return torch.rand(*shape, device="cuda", dtype=torch.float32).sub_(0.5).bfloat16()


def products() -> None:
    for m, n, k in [
        (4096, 4096, 4096),
        (4096, 2048, 1024),
        (4096, 3072, 1024),
        (4096, 1024, 3072),
        (4096, 12288, 4096),
        (4096, 4096, 12288),
        (4096, 16, 4096),
    ]:
        a, b = noise(m, k), noise(n, k)
        ms = least_ms(partial(torch.matmul, a, b.T))
        print(f"torch nt {m} x {n} x {k}: {ms:.3f} ms {2e-9 * m * n * k / ms:.1f} TFLOP/s", flush=True)


def attention(tokens: int, heads: int, kv: int, width: int) -> None:
    q, k, v = noise(1, heads, tokens, width), noise(1, kv, tokens, width), noise(1, kv, tokens, width)
    for one in (q, k, v):
        one.requires_grad_()
    run = torch.nn.functional.scaled_dot_product_attention
    there = least_ms(lambda: run(q, k, v, is_causal=True, enable_gqa=True))
    y = run(q, k, v, is_causal=True, enable_gqa=True)
    dy = torch.rand_like(y)
    back = least_ms(lambda: torch.autograd.grad(y, (q, k, v), dy, retain_graph=True))
    half = tokens * tokens / 2 * heads * width * 1e-9
    print(
        f"torch attention {tokens}, {heads}/{kv} x {width}: {there:.3f} ms {4 * half / there:.1f} TFLOP/s, "
        f"gradient {back:.3f} ms {10 * half / back:.1f} TFLOP/s",
        flush=True,
    )


if __name__ == "__main__":
    print(torch.cuda.get_device_name(), torch.__version__)
    products()
    for shape in [(2048, 16, 8, 128), (2048, 32, 8, 128), (2048, 32, 8, 64)]:
        attention(*shape)
