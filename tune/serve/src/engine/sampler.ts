/** From rows of hidden states to tokens: fills what a head program reads, runs it and reads what it drew. */
import type { Buffers, Prepared } from '@cairn-tune/program'
import { editsOf, type Edit, type Sequence, type TokenReport } from './sequence.ts'
import type { StepPrograms } from './step-programs.ts'

/**
 * A row of hidden states that becomes a token: the next one of a sequence, or one of its prompt that is
 * known.
 */
export type HeadRow = { sequence: Sequence; row: number; forced: number }

export type Sampler = { sample(rows: readonly HeadRow[]): Promise<TokenReport[]> }

/** Of one run; used again by later ones. */
type Desk = ReturnType<typeof createDesk>

const bytesOf = (view: ArrayBufferView) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength)

function createDesk(
  sizes: { rows: number; edits: number; top: number },
  prepared: Prepared,
  shared: Buffers,
) {
  const { rows, edits, top } = sizes
  const ins = {
    rows: new Int32Array(rows),
    forced: new Int32Array(rows),
    choice: new Float32Array(rows * 3),
    draw: new Int32Array(rows * 4),
    edits: new Int32Array(edits * 2),
    edit_by: new Float32Array(edits * 2),
  }
  const outs = {
    token: new Int32Array(rows),
    logprob: new Float32Array(rows),
    top_tokens: new Int32Array(rows * top),
    top_logprobs: new Float32Array(rows * top),
  }
  const run = prepared.bind({
    ...shared,
    ...ins,
    ...Object.fromEntries(Object.entries(outs).map(([name, view]) => [`out:${name}`, bytesOf(view)])),
  })
  return { ...sizes, ins, outs, run }
}

function fill({ ins }: Desk, rows: readonly HeadRow[], edits: readonly (readonly Edit[])[]): void {
  ins.rows.fill(-1, rows.length)
  ins.edits.fill(-1)
  let edit = 0
  for (const [
    i,
    {
      sequence: { sampling: s, ids, promptLength },
      row,
      forced,
    },
  ] of rows.entries()) {
    ins.rows[i] = row
    ins.forced[i] = forced
    ins.choice[i * 3] = s.temperature
    ins.choice[i * 3 + 1] = s.topP
    ins.choice[i * 3 + 2] = s.minP
    ins.draw[i * 4] = s.topK
    ins.draw[i * 4 + 1] = s.seed[0]
    ins.draw[i * 4 + 2] = s.seed[1]
    ins.draw[i * 4 + 3] = ids.length - promptLength
    for (const { token, factor, add } of edits[i] ?? []) {
      ins.edits.set([i, token], edit * 2)
      ins.edit_by.set([factor, add], edit++ * 2)
    }
  }
}

const NO_TOP: TokenReport['top'] = []

const readReport = ({ outs, top }: Desk, i: number, wanted: number): TokenReport => ({
  token: outs.token[i] ?? 0,
  logprob: outs.logprob[i] ?? 0,
  top:
    wanted === 0
      ? NO_TOP
      : Array.from(
          { length: Math.min(top, wanted) },
          (_, j) => [outs.top_tokens[i * top + j] ?? 0, outs.top_logprobs[i * top + j] ?? 0] as const,
        ),
})

/** `shared` holds the weights and the hidden states. */
export function createSampler(programs: StepPrograms, shared: Buffers): Sampler {
  const free = new Map<Prepared, Desk[]>()

  return {
    async sample(rows) {
      const edits = rows.map(({ sequence, forced }) => (forced < 0 ? editsOf(sequence) : []))
      const most = Math.max(...rows.map(({ sequence }) => sequence.sampling.logprobs ?? 0))
      const { prepared, ...sizes } = programs.head(
        rows.length,
        Math.max(
          1,
          edits.reduce((sum, { length }) => sum + length, 0),
        ),
        most,
      )
      const desks = free.get(prepared) ?? []
      free.set(prepared, desks)
      const desk = desks.pop() ?? createDesk(sizes, prepared, shared)
      fill(desk, rows, edits)
      try {
        await desk.run()
        return rows.map(({ sequence }, i) => readReport(desk, i, sequence.sampling.logprobs ?? 0))
      } finally {
        desks.push(desk)
      }
    },
  }
}
