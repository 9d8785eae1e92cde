/**
 * Turns rows of hidden states into tokens: fills a head program's inputs, runs it and reads the tokens drawn.
 */
import type { Engine } from '@cairn-tune/native'
import { floatsOf, intsOf } from '@cairn-tune/ops'
import type { Buffers, PreparedProgram } from '@cairn-tune/program'
import { editsOf, type LogitEdit, type Sequence, type TokenReport } from './sequence.ts'
import type { HeadSizes, StepPrograms } from './step-programs.ts'

/** A row of hidden states to turn into a token: the next one of a sequence, or a known one of its prompt. */
export type HeadRow = { sequence: Sequence; row: number; forced: number }

export type Sampler = { sample(rows: readonly HeadRow[]): Promise<TokenReport[]> }

/** Buffers of one run, reused by later runs. */
type Desk = ReturnType<typeof createDesk>

function createDesk(
  engine: Engine,
  sizes: HeadSizes,
  maskWords: number,
  prepared: PreparedProgram,
  shared: Buffers,
) {
  const { rows, edits, masks, top } = sizes
  const ins = {
    rows: new Int32Array(rows),
    forced: new Int32Array(rows),
    choice: new Float32Array(rows * 3),
    draw: new Int32Array(rows * 4),
    edits: new Int32Array(edits * 2),
    edit_by: new Float32Array(edits * 2),
    masked: new Int32Array(rows),
    mask: new Int32Array(masks * maskWords),
  }
  const inputs = Object.entries(ins).map(
    ([name, { byteLength }]) => [name, engine.allocate(byteLength)] as const,
  )
  const outs = {
    token: engine.allocate(rows * 4),
    logprob: engine.allocate(rows * 4),
    top_tokens: engine.allocate(rows * top * 4),
    top_logprobs: engine.allocate(rows * top * 4),
  }
  const bound = prepared.bind({
    ...shared,
    ...Object.fromEntries(inputs),
    ...Object.fromEntries(Object.entries(outs).map(([name, buffer]) => [`out:${name}`, buffer])),
  })

  /** Uploads the inputs, runs the program and reads the drawn tokens. */
  async function run(): Promise<Drawn> {
    for (const [name, buffer] of inputs)
      if (name !== 'mask' || ins.masked.some(mask => mask >= 0))
        engine.write(buffer, ins[name as keyof typeof ins])
    await bound()
    return {
      token: intsOf(await engine.read(outs.token)),
      logprob: floatsOf(await engine.read(outs.logprob)),
      top_tokens: intsOf(await engine.read(outs.top_tokens)),
      top_logprobs: floatsOf(await engine.read(outs.top_logprobs)),
    }
  }
  return { ...sizes, maskWords, ins, run }
}

/** Results for the rows of a run, valid until the desk runs again. */
type Drawn = {
  token: Int32Array
  logprob: Float32Array
  top_tokens: Int32Array
  top_logprobs: Float32Array
}

function fill(
  { ins, maskWords }: Desk,
  rows: readonly HeadRow[],
  edits: readonly (readonly LogitEdit[])[],
): void {
  ins.rows.fill(-1, rows.length)
  ins.edits.fill(-1)
  ins.masked.fill(-1)
  let edit = 0
  let mask = 0
  for (const [
    i,
    {
      sequence: { sampling: s, ids, promptLength },
      sequence,
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
    const allowed = forced < 0 ? maskOf(sequence) : undefined
    if (allowed) {
      ins.mask.set(allowed, mask * maskWords)
      ins.masked[i] = mask++
    }
    for (const { token, factor, add } of edits[i] ?? []) {
      ins.edits.set([i, token], edit * 2)
      ins.edit_by.set([factor, add], edit++ * 2)
    }
  }
}

const isMasked = ({ form, sampling }: Sequence): boolean =>
  form !== undefined || sampling.allowed !== undefined

/**
 * Mask of the tokens that may come next. Undefined allows all. A form takes precedence over a list that has
 * none of its tokens.
 */
function maskOf({ form, sampling: { allowed } }: Sequence): Int32Array | undefined {
  const wanted = form?.mask()
  if (!wanted || !allowed) return wanted ?? allowed
  const both = wanted.map((word, i) => word & (allowed[i] ?? 0))
  return both.some(word => word !== 0) ? both : wanted
}

const NO_TOP: TokenReport['top'] = []

const readReport = (outs: Drawn, top: number, i: number, wanted: number): TokenReport => ({
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
export function createSampler(
  engine: Engine,
  programs: StepPrograms,
  vocabSize: number,
  shared: Buffers,
): Sampler {
  const maskWords = Math.ceil(vocabSize / 32)
  const free = new Map<PreparedProgram, Desk[]>()

  return {
    async sample(rows) {
      const edits = rows.map(({ sequence, forced }) => (forced < 0 ? editsOf(sequence) : []))
      const logprobs = Math.max(...rows.map(({ sequence }) => sequence.sampling.logprobs ?? 0))
      const { prepared, sizes } = programs.head({
        rows: rows.length,
        edits: Math.max(
          1,
          edits.reduce((sum, { length }) => sum + length, 0),
        ),
        masks: Math.max(1, rows.filter(({ sequence, forced }) => isMasked(sequence) && forced < 0).length),
        top: logprobs,
      })
      const desks = free.get(prepared) ?? []
      free.set(prepared, desks)
      const desk = desks.pop() ?? createDesk(engine, sizes, maskWords, prepared, shared)
      fill(desk, rows, edits)
      try {
        const drawn = await desk.run()
        return rows.map(({ sequence }, i) => readReport(drawn, sizes.top, i, sequence.sampling.logprobs ?? 0))
      } finally {
        desks.push(desk)
      }
    },
  }
}
