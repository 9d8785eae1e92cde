/** Gated units that join their products: fewer steps, and the same bits. */
import { expect, test } from 'vitest'
import { createEngine } from '@cairn-tune/native'
import {
  adoptAll,
  createRecorder,
  differentiate,
  fuseUnits,
  outputBinding,
  prepare,
  recompute,
  type Program,
  type Recorder,
  type Tensor,
} from '@cairn-tune/program'
import { countDifferent } from './byte-cases.ts'
import { noise } from './one-op.ts'

const [T, C, F] = [9, 34, 50]
const attrs = { alpha: 1, arithmetic: 'bf16', dtype: 'bf16' } as const
const NAMES = { x: [T, C], gate_proj: [F, C], up_proj: [F, C], down_proj: [C, F], dy: [T, C] }

/** A feed-forward block and its gradients. `more` may read the results of its products. */
function recordBlock(more?: (g: Recorder, gate: Tensor, h: Tensor) => Tensor): Program {
  const g = createRecorder()
  const input = (name: keyof typeof NAMES) => g.input(name, 'bf16', NAMES[name])
  const [x, dy] = [input('x'), input('dy')]
  const y = g.block('layer 0', () => {
    const gate = g.matmul_nt({ a: x, b: input('gate_proj') }, attrs).y
    const up = g.matmul_nt({ a: x, b: input('up_proj') }, attrs).y
    const other = more?.(g, gate, up)
    const h = g.swiglu({ gate, up }, {}).y
    return g.matmul_nt({ a: h, b: input('down_proj'), addend: other }, attrs).y
  })
  const grads = differentiate(g, new Map([[y, dy]]), [x])
  return g.finish({ y, dx: grads.get(x)! })
}

const opsOf = ({ steps }: Program) => steps.map(({ op }) => op)
const nothing = { cheap: new Set<string>(), whole: new Set<string>() }

async function runBlock(program: Program): Promise<Uint8Array[]> {
  using engine = await createEngine({ threads: 2 })
  const outputs = ['y', 'dx'].map(outputBinding)
  const buffers = adoptAll(engine, {
    ...Object.fromEntries(
      Object.entries(NAMES).map(([name, shape], i) => [name, noise('bf16', shape, i + 1).bytes]),
    ),
    ...Object.fromEntries(outputs.map(name => [name, new Uint8Array(T * C * 2)])),
  })
  await prepare(engine, program).run(buffers)
  return await Promise.all(outputs.map(async name => (await engine.read(buffers[name]!)).slice()))
}

const unfused = recordBlock()

test.each([
  ['without recomputation', nothing],
  ['with units computed again', { ...nothing, cheap: new Set(['layer 0']) }],
  ['with the block computed again', { ...nothing, whole: new Set(['layer 0']) }],
])('a block and its gradients %s', async (_, policy) => {
  const fused = recompute(fuseUnits(unfused), policy)
  const backward = ['matmul_nn_swiglu_grad', 'matmul_nn', 'matmul_nn']
  const again = policy.whole.size > 0 ? ['matmul_nt', 'matmul_nt'] : []
  expect(opsOf(fused)).toEqual(['matmul_nt_swiglu', 'matmul_nt', ...again, ...backward])
  const [own, other] = [await runBlock(fused), await runBlock(unfused)]
  for (const [i, bytes] of other.entries()) expect(countDifferent(own[i]!, bytes)).toBe(0)
})

test('a product whose result is read before the unit, or also elsewhere, stays alone', () => {
  const early = recordBlock((g, gate) => g.matmul_nt({ a: gate, b: g.input('w', 'bf16', [C, F]) }, attrs).y)
  expect(opsOf(recompute(early, nothing)).filter(op => op === 'matmul_nt')).toHaveLength(4)
  const g = createRecorder()
  const dy = g.matmul_nn(
    { a: g.input('a', 'bf16', [T, C]), b: g.input('b', 'bf16', [C, F]) },
    { ...attrs, stream: 0 },
  ).y
  const given = { gate: g.input('gate', 'bf16', [T, F]), up: g.input('up', 'bf16', [T, F]) }
  g.swiglu_grad({ dy, ...given }, {})
  expect(opsOf(fuseUnits(g.finish({ dy })))).toEqual(['matmul_nn', 'swiglu_grad'])
  expect(opsOf(fuseUnits(g.finish({})))).toEqual(['matmul_nn_swiglu_grad'])
})
