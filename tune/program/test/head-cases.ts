/** Inputs for the kernels that read the logits of the head one chunk at a time. */
import type { Dtype } from '@cairn-tune/ops'
import type { Case } from './cases.ts'
import { noise, runOracle, tensor } from './one-op.ts'
import { range } from './serving-cases.ts'

export function* losses(dtype: Dtype): Generator<Case> {
  for (const [tokens, columns, vocab, chunk, scale, softcap = 0] of [
    [33, 31, 101, 16, 0],
    [5, 64, 4099, 512, 0.3],
    [17, 24, 45, 8, 0, 3],
  ] as const) {
    const inputs = {
      x: noise(dtype, [tokens, columns], 20),
      weight: noise(dtype, [vocab, columns], 21),
      targets: tensor(
        'i32',
        [tokens],
        range(tokens, t => (t % 4 === 1 ? -100 : (t * 17) % vocab)),
      ),
    }
    const attrs = { arithmetic: dtype, chunk, scale, softcap }
    yield { op: 'head_loss', name: `${tokens}×${columns}×${vocab}`, inputs, attrs, dtype }
    yield { op: 'head_loss_trained', name: `${tokens}×${columns}×${vocab}`, inputs, attrs, dtype }
  }
}

/** Rows without a target first, last and between; chunks that end within; none with a target at all. */
export function* tokenLogps(dtype: Dtype): Generator<Case> {
  for (const [tokens, columns, vocab, chunk, every, scale, softcap = 0] of [
    [13, 24, 50, 4, 3, 0],
    [33, 31, 17, 64, 2, 0.3],
    [40, 64, 300, 16, 1, 0],
    [8, 16, 9, 8, 100, 0],
    [11, 32, 45, 8, 2, 0, 2],
  ] as const) {
    const inputs = {
      // Logits of a few units: lse is that of exact ones, and bf16 rounds them.
      x: noise(dtype, [tokens, columns], 61, 0.3),
      weight: noise(dtype, [vocab, columns], 62),
      targets: tensor(
        'i32',
        [tokens],
        range(tokens, t => (t % every === every - 1 ? (t * 7) % vocab : -100)),
      ),
    }
    const attrs = { arithmetic: dtype, chunk, scale, softcap }
    const name = `${tokens}×${columns}×${vocab}, a target every ${every}`
    yield { op: 'token_logps', name, inputs, attrs, dtype }
    const { lse = [] } = runOracle('token_logps', inputs, attrs)
    const grad = { ...inputs, lse: tensor('f32', [tokens], lse), dlogps: noise('f32', [tokens], 63) }
    yield { op: 'token_logps_grad', name, inputs: grad, attrs, dtype }
  }
}
