/**
 * A transformer of two small blocks with LoRA on some linears: every differentiable op, small enough for
 * finite differences.
 */
import { countElements, uniform, type Dtype } from '@cairn-tune/ops'
import { ONE } from '../src/gradient-context.ts'
import { differentiate } from '../src/differentiate.ts'
import type { Program, Tensor } from '../src/program.ts'
import { createRecorder } from '../src/record.ts'

const [T, C, H, G, D, F, V, R] = [9, 8, 2, 1, 6, 10, 11, 2]
const blocks = 2

type Toy = { program: Program; trained: Tensor[] }

export function recordToy(dtype: 'f32' | 'bf16', weights: Dtype = dtype): Toy {
  const g = createRecorder()
  const trained: Tensor[] = []
  const train = (name: string, shape: number[]) => {
    trained.push(g.input(name, 'f32', shape))
    return trained.at(-1)!
  }
  const matmul = { alpha: 1, arithmetic: dtype, dtype }
  const [ids, positions, ends, targets] = (['ids', 'positions', 'ends', 'targets'] as const).map(name =>
    g.input(name, 'i32', [name === 'ends' ? 3 : T]),
  ) as [Tensor, Tensor, Tensor, Tensor]
  const cosSin = g.input('cos_sin', 'f32', [T, D])
  const table = train('embed', [V, C])

  const linear = (name: string, x: Tensor, n: number, addend?: Tensor) => {
    const k = x.shape[1] ?? 0
    const z = g.matmul_nt({ a: x, b: train(`${name}.A`, [R, k]) }, { ...matmul, alpha: 2 }).y
    return g.matmul_nt(
      { a: x, b: g.input(`${name}.weight`, weights, [n, k]), a2: z, b2: train(`${name}.B`, [n, R]), addend },
      matmul,
    ).y
  }

  let x = g.embed({ table, ids }, { dtype }).y
  for (let l = 0; l < blocks; l++) {
    x = g.block(`block ${l}`, () => {
      const n1 = g.rms_norm({ x, weight: train(`${l}.norm1`, [C]) }, { eps: 0.01 }).y
      const q = g.qk_norm_rope(
        { x: linear(`${l}.q`, n1, H * D), weight: train(`${l}.qnorm`, [D]), positions, cos_sin: cosSin },
        { heads: H, eps: 0.01 },
      ).y
      const k = g.qk_norm_rope(
        { x: linear(`${l}.k`, n1, G * D), positions, cos_sin: cosSin },
        { heads: G, eps: 0.01 },
      ).y
      const a = g.attention(
        { q, k, v: linear(`${l}.v`, n1, G * D), cu_seqlens: ends },
        { heads: H, kv_heads: G, scale: 0.5 },
      ).y
      const x1 = linear(`${l}.o`, a, C, x)
      const n2 = g.rms_norm({ x: x1, weight: train(`${l}.norm2`, [C]) }, { eps: 0.01 }).y
      const h = g.swiglu({ gate: linear(`${l}.gate`, n2, F), up: linear(`${l}.up`, n2, F) }, {}).y
      return g.add({ a: x1, b: linear(`${l}.down`, h, C) }, {}).y
    })
  }
  const { loss, losses } = g.head_loss_trained(
    { x, weight: train('head', [V, C]), targets },
    { arithmetic: dtype, chunk: 4 },
  )
  const grads = differentiate(g, new Map([[loss, ONE]]), trained)
  const outputs = Object.fromEntries([...grads].map(([tensor, grad]) => [`d.${tensor.name}`, grad]))
  return { program: g.finish({ loss, losses, ...outputs }), trained }
}

/** Numbers for the toy's inputs by name. */
export function toyInputs(program: Program): Record<string, number[]> {
  const fixed: Record<string, number[]> = {
    ids: [1, 2, 3, 1, 0, 10, 5, 5, 2],
    positions: [0, 1, 2, 3, 0, 1, 2, 3, 4],
    ends: [0, 4, 9],
    targets: [2, 3, -100, 0, 10, 5, 5, -100, 7],
    cos_sin: Array.from({ length: T * D }, (_, i) =>
      (i % D < D / 2 ? Math.cos : Math.sin)(Math.floor(i / D) * 0.7 ** (i % (D / 2))),
    ),
  }
  return Object.fromEntries(
    program.tensors
      .filter(tensor => tensor.isInput)
      .map((tensor, seed) => {
        const name = tensor.name ?? ''
        return [
          name,
          fixed[name] ??
            Array.from(
              { length: countElements(tensor.shape) },
              (_, i) => (2 * uniform({ seed, step: 1, op: 0 }, i) - 1) * 0.7,
            ),
        ]
      }),
  )
}
