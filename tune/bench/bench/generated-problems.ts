/** Generated problems to train on, and what a served model makes of those it was not trained on. */
import { writeFileSync } from 'node:fs'
import { evaluate, type Score } from '@cairn-tune/bench'
import { generateProblems, questionPrompt, type ProblemOptions } from '@cairn-tune/train'
import type { ModelTokenizer } from '@cairn-tune/weights'

type Problem = { question: string; answer: string }
type ProblemKind = Pick<ProblemOptions, 'language' | 'minSteps' | 'maxSteps'>

export const drawProblems = (kind: ProblemKind, split: 'train' | 'test', count: number): Problem[] => [
  ...generateProblems({ ...kind, split, count, seed: 1, maxNumber: 200 }),
]

/** Writes problems as prompts and completions, which ask as the gsm8k task does. */
export function writeProblems(path: string, problems: readonly Problem[]): void {
  const pairs = problems.map(({ question, answer }) => ({
    prompt: questionPrompt(question),
    completion: ` ${answer}`,
  }))
  writeFileSync(path, pairs.map(pair => `${JSON.stringify(pair)}\n`).join(''))
}

type Asked = { url: string; name: string; questions: readonly Problem[]; tokenizer: ModelTokenizer }
export type Measured = { strict: Score; flexible: Score; loss: number; lossError: number }

/** Accuracy and loss of a served model on problems. Writes the replies to `directory`. */
export async function measureAnswers(asked: Asked & { directory: string }): Promise<Measured> {
  const { url, name, questions, directory } = asked
  const { scores } = await evaluate({
    url,
    model: name,
    questions,
    source: 'generated problems',
    outputDir: directory,
  })
  return { strict: scores['strict-match'], flexible: scores['flexible-extract'], ...(await lossOf(asked)) }
}

/** Mean loss per token of each answer, then mean and standard error over the answers. */
async function lossOf({
  url,
  name,
  questions,
  tokenizer,
}: Asked): Promise<{ loss: number; lossError: number }> {
  const losses: number[] = []
  for (const { question, answer } of questions) {
    const start = tokenizer.encodeDocument(questionPrompt(question))
    const ids = [...start, ...tokenizer.encode(` ${answer}`), tokenizer.eosTokenId ?? 0]
    const response = await fetch(`${url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: name,
        prompt: ids,
        max_tokens: 1,
        echo: true,
        logprobs: 0,
        temperature: 0,
      }),
    })
    const body = (await response.json()) as { choices: { logprobs: { token_logprobs: number[] } }[] }
    const own = body.choices[0]?.logprobs.token_logprobs.slice(start.length, ids.length) ?? []
    losses.push(-own.reduce((sum, value) => sum + value, 0) / own.length)
  }
  const mean = losses.reduce((sum, value) => sum + value, 0) / losses.length
  const variance = losses.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (losses.length - 1)
  return { loss: mean, lossError: Math.sqrt(variance / losses.length) }
}
