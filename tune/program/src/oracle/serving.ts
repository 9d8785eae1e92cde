/** Ops of inference, in float64. */
import { philox, type Attrs } from '@cairn-tune/ops'
import { at, capped, fill, get, number, sizes, zeros, type Define, type Matrix } from './matrix.ts'

/** Index of element i of a row in the caches. */
function cacheOf(attrs: Attrs, width: number) {
  const [block, a] = [number(attrs, 'block'), attrs.dtype === 'bf16' ? 2 : 1]
  const start = (row: number) => Math.floor(row / block) * block * width
  return {
    key: (row: number, i: number) => start(row) + (Math.floor(i / a) * block + (row % block)) * a + (i % a),
    value: (row: number, i: number) =>
      start(row) + (Math.floor((row % block) / a) * width + i) * a + ((row % block) % a),
  }
}

export const pagedWrite: Define = (inputs, attrs) => {
  const [, width] = sizes(get(inputs, 'k_cache'))
  const place = cacheOf(attrs, width)
  const [keys, values] = [get(inputs, 'k_cache').values.slice(), get(inputs, 'v_cache').values.slice()]
  for (const [t, slot] of get(inputs, 'slots').values.entries()) {
    if (slot < 0) continue
    for (let i = 0; i < width; i++) {
      keys[place.key(slot, i)] = at(get(inputs, 'k').values, t * width + i)
      values[place.value(slot, i)] = at(get(inputs, 'v').values, t * width + i)
    }
  }
  return { keys, values }
}

export const pagedAttention: Define = (inputs, attrs) => {
  const [heads, keyHeads, block] = [number(attrs, 'heads'), number(attrs, 'kv_heads'), number(attrs, 'block')]
  const [tokens, columns] = sizes(get(inputs, 'q'))
  const width = columns / heads
  const place = cacheOf(attrs, keyHeads * width)
  const [, blocks] = sizes(get(inputs, 'tables'))
  const { q, k, v, tables, spans } = Object.fromEntries(
    ['q', 'k', 'v', 'tables', 'spans'].map(name => [name, get(inputs, name).values]),
  ) as Record<'q' | 'k' | 'v' | 'tables' | 'spans', Float64Array>
  const y = zeros(tokens * columns)
  for (let s = 0; s * 3 < spans.length; s++) {
    const [first, rows, before] = [at(spans, s * 3), at(spans, s * 3 + 1), at(spans, s * 3 + 2)]
    for (let row = 0; row < rows; row++) {
      for (let head = 0; head < heads; head++) {
        const from = (first + row) * columns + head * width
        const keyHead = Math.floor((head * keyHeads) / heads) * width
        const unseen = Math.max(0, before + row + 1 - (number(attrs, 'window') || Infinity))
        const cached = fill(before + row + 1 - unseen, i => {
          const j = unseen + i
          return at(tables, s * blocks + Math.floor(j / block)) * block + (j % block)
        })
        const scores = cached.map(key =>
          capped(
            number(attrs, 'scale') *
              fill(width, i => at(q, from + i) * at(k, place.key(key, keyHead + i))).reduce(
                (a, b) => a + b,
                0,
              ),
            number(attrs, 'softcap'),
          ),
        )
        const sink = inputs.sinks ? at(inputs.sinks.values, head) : -Infinity
        const max = scores.reduce((a, b) => Math.max(a, b), sink)
        const weights = scores.map(score => Math.exp(score - max))
        const total = weights.reduce((a, b) => a + b, Math.exp(sink - max))
        for (const [j, key] of cached.entries()) {
          for (let i = 0; i < width; i++)
            y[from + i] = at(y, from + i) + (at(weights, j) / total) * at(v, place.value(key, keyHead + i))
        }
      }
    }
  }
  return { y }
}

export const loraDelta: Define = inputs => {
  const [x, a, b] = [get(inputs, 'x'), get(inputs, 'a'), get(inputs, 'b')]
  const [rows, k] = sizes(x)
  const [, max = 0, n = 0] = b.shape
  const y = inputs.addend?.values.slice() ?? zeros(rows * n)
  for (const [t, adapter] of get(inputs, 'adapters').values.entries()) {
    if (adapter < 0) continue
    const [rank, scale] = [
      at(get(inputs, 'ranks').values, adapter * 2),
      at(get(inputs, 'ranks').values, adapter * 2 + 1),
    ]
    for (let r = 0; r < rank; r++) {
      const z =
        scale *
        fill(k, i => at(x.values, t * k + i) * at(a.values, (adapter * max + r) * k + i)).reduce(
          (sum, value) => sum + value,
          0,
        )
      for (let i = 0; i < n; i++)
        y[t * n + i] = at(y, t * n + i) + z * at(b.values, (adapter * max + r) * n + i)
    }
  }
  return { y }
}

export const gatherRows: Define = inputs => {
  const { values } = get(inputs, 'x')
  const [, columns] = sizes(get(inputs, 'x'))
  const rows = get(inputs, 'rows').values
  return {
    y: fill(rows.length * columns, i =>
      at(rows, Math.floor(i / columns)) < 0
        ? 0
        : at(values, at(rows, Math.floor(i / columns)) * columns + (i % columns)),
    ),
  }
}

/** Tokens in descending order of their logits. Of equals the lower token comes first. */
const ranked = (values: Float64Array) =>
  Array.from(values.keys()).toSorted((a, b) => at(values, b) - at(values, a) || a - b)

function edited(logits: Float64Array, row: number, edits: Matrix, by: Matrix): Float64Array {
  const changed = logits.slice()
  for (let e = 0; e < sizes(edits)[0]; e++) {
    if (at(edits.values, e * 2) !== row) continue
    const [token, factor, add] = [at(edits.values, e * 2 + 1), at(by.values, e * 2), at(by.values, e * 2 + 1)]
    const logit = at(changed, token)
    changed[token] = (logit > 0 ? logit / factor : logit * factor) + add
  }
  return changed
}

/** Logits of a row that its mask allows. */
function allowed(logits: Float64Array, row: number, inputs: Parameters<Define>[0]): Float64Array {
  const mask = get(inputs, 'mask')
  const which = at(get(inputs, 'masked').values, row)
  const words = sizes(mask)[1]
  const hasBit = (token: number) => (at(mask.values, which * words + (token >> 5)) >> (token & 31)) & 1
  return which < 0 ? logits : logits.map((logit, token) => (hasBit(token) ? logit : -Infinity))
}

/**
 * Draws a token at `uniform`. min_p, then top_k, then top_p drop unlikely tokens; tokens equal to the last
 * one kept are kept too.
 */
function draw(
  logits: Float64Array,
  {
    temperature,
    topP,
    minP,
    topK,
    uniform,
  }: Record<'temperature' | 'topP' | 'minP' | 'topK' | 'uniform', number>,
): number {
  const order = ranked(logits)
  if (temperature === 0) return order[0] ?? -1
  const max = at(logits, order[0] ?? 0)
  const p = logits.map(logit => Math.exp((logit - max) / temperature))
  const keep = (floor: number) => p.forEach((value, i) => (p[i] = value < floor ? 0 : value))
  keep(minP)
  if (topK > 0 && topK < p.length) keep(at(p, order[topK - 1] ?? 0))
  const total = p.reduce((a, b) => a + b, 0)
  let sum = 0
  if (topP < 1) keep(at(p, order.find(token => (sum += at(p, token)) >= topP * total) ?? 0))
  const target = uniform * p.reduce((a, b) => a + b, 0)
  sum = 0
  return p.findIndex(value => (sum += value) > target)
}

export const sample: Define = (inputs, attrs) => {
  const [rows, vocab] = sizes(get(inputs, 'logits'))
  const top = number(attrs, 'top')
  const [choice, words] = [get(inputs, 'choice').values, get(inputs, 'draw').values]
  const out = {
    token: zeros(rows),
    logprob: zeros(rows),
    top_tokens: zeros(rows * top),
    top_logprobs: zeros(rows * top),
  }
  for (let row = 0; row < rows; row++) {
    const logits = get(inputs, 'logits').values.slice(row * vocab, (row + 1) * vocab)
    const max = logits.reduce((a, b) => Math.max(a, b), -Infinity)
    const total = max + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - max), 0))
    const [topK, low, high, counter] = Array.from(words.subarray(row * 4, row * 4 + 4)) as [
      number,
      number,
      number,
      number,
    ]
    const uniform = ((philox([counter >>> 0, 0, 0, 0], [low >>> 0, high >>> 0])[0] ?? 0) >>> 8) / 2 ** 24
    const [temperature, topP, minP] = Array.from(choice.subarray(row * 3, row * 3 + 3)) as [
      number,
      number,
      number,
    ]
    const forced = at(get(inputs, 'forced').values, row)
    const token =
      forced >= 0
        ? forced
        : draw(allowed(edited(logits, row, get(inputs, 'edits'), get(inputs, 'edit_by')), row, inputs), {
            temperature,
            topP,
            minP,
            topK,
            uniform,
          })
    out.token[row] = token
    out.logprob[row] = at(logits, token) - total
    for (const [i, best] of ranked(logits).slice(0, top).entries()) {
      out.top_tokens[row * top + i] = best
      out.top_logprobs[row * top + i] = at(logits, best) - total
    }
  }
  return out
}
