/** Greedy continuations of two engines beside each other: the same, the same but for ties, or not. */

/** How long continuations are. */
export const TOKENS = 32
/** Log-probabilities of the two sides differ by up to 1e-5, as sums of f32 in another order do. */
const TIE = 2e-5

/** Continuations, and the likeliest tokens that one may begin with, in order. */
export type Continuations = { tokens: number[]; likeliest: { id: number; logprob: number }[] }[]
type Answer = Continuations[number]
/** One of the two sides. */
export type Generate = (prompts: number[][]) => Continuations | Promise<Continuations>

/** How much likelier a side's own choice is to it than a token; NaN where that is none of the likeliest. */
const behind = ({ likeliest }: Answer, token: number | undefined) =>
  (likeliest[0]?.logprob ?? NaN) - (likeliest.find(({ id }) => id === token)?.logprob ?? NaN)

/** Goes on where a continuation parted, as long as that was a tie; how many ties, or undefined. */
async function followTies(
  prompt: number[],
  first: [Answer, Answer],
  asks: readonly [Generate, Generate],
  tie: number,
): Promise<number | undefined> {
  let [[own, other], done, ties]: [typeof first, number[], number] = [first, [], 0]
  for (;;) {
    const left = TOKENS - done.length
    const at = own.tokens.slice(0, left).findIndex((token, j) => token !== other.tokens[j])
    if (at < 0) return ties
    done = [...done, ...other.tokens.slice(0, at)]
    const here = [await asks[0]([[...prompt, ...done]]), await asks[1]([[...prompt, ...done]])] as const
    const [a, b] = [here[0][0], here[1][0]]
    if (!a || !b) throw new Error('an engine gave no answer')
    const gaps = [behind(a, b.tokens[0]), behind(b, a.tokens[0])] as const
    console.log(
      `  token ${done.length + 1}: ${a.tokens[0]} here, ${b.tokens[0]} there; the other side’s token is ` +
        `less likely by ${gaps[0].toExponential(1)} here, ${gaps[1].toExponential(1)} there`,
    )
    if (!gaps.every(gap => gap < tie)) return undefined
    ties++
    done.push(b.tokens[0] ?? 0)
    const next = [await asks[0]([[...prompt, ...done]]), await asks[1]([[...prompt, ...done]])] as const
    if (!next[0][0] || !next[1][0]) throw new Error('an engine gave no answer')
    ;[own, other] = [next[0][0], next[1][0]]
  }
}

/** Prints how many continuations are the same; the exit code is 1 where some part otherwise than at a tie. */
export async function compare(
  name: string,
  prompts: number[][],
  asks: readonly [Generate, Generate],
  tie = TIE,
): Promise<void> {
  const [a, b] = [await asks[0](prompts), await asks[1](prompts)]
  let [alike, tied] = [0, 0]
  for (const [i, own] of a.entries()) {
    const other = b[i]
    const prompt = prompts[i]
    if (!other || !prompt) throw new Error(`prompt ${i} has no answer`)
    const ties = await followTies(prompt, [own, other], asks, tie)
    if (ties === 0) alike++
    else if (ties !== undefined) tied++
  }
  const worst = Math.max(
    ...a.map(({ likeliest: [top] }, i) =>
      Math.abs((top?.logprob ?? NaN) - (b[i]?.likeliest[0]?.logprob ?? NaN)),
    ),
  )
  console.log(
    `${name}: ${alike} of ${a.length} continuations of ${TOKENS} tokens alike` +
      `${tied > 0 ? `, ${tied} but for a tie` : ''}; first log-probabilities apart by at most ` +
      worst.toExponential(1),
  )
  if (alike + tied < a.length) process.exitCode = 1
}
