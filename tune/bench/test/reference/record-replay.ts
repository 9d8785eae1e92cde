/**
 * Records the real lm-evaluation-harness against `cairn-tune serve`: writes replay-questions.jsonl and
 * replay.json.
 *
 *   pip install 'lm_eval[api]' transformers
 *   PATH=<that environment>/bin:$PATH node tune/bench/test/reference/record-replay.ts
 *
 * Sums have another order in other instruction sets. So the server computes in f32, and only those questions
 * are taken in whose answers every token is ahead of the next one by far more than f32 rounds.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { INVALID, extractAnswer, gsm8kRequest, type FilterName } from '../../src/eval/gsm8k.ts'
import { generateProblems, type Problem } from '@cairn-tune/train'
import { MODELS, serveArguments, writeReplayModel, type Recorded, type Recording } from './replay-model.ts'
import { runHarness } from './run-harness.ts'

/** In log-probability; what instruction sets differ by is near 1e-5. */
const MIN_MARGIN = 0.002
const CANDIDATES = 40
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'cairn-replay-'))

type Reply = {
  choices: { text: string; logprobs: { tokens: string[]; top_logprobs: Record<string, number>[] } }[]
  usage: { completion_tokens: number }
}
const post = async (url: string, body: object) =>
  (await (
    await fetch(`${url}/v1/completions`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    })
  ).json()) as Reply

/** The smallest margin of an answer's tokens over the runner-up, in log-probability. */
async function marginOf(
  url: string,
  request: ReturnType<typeof gsm8kRequest>,
  tokens: number,
): Promise<number> {
  const { stop: _, ...rest } = request
  const [choice] = (await post(url, { ...rest, max_tokens: tokens, ignore_eos: true, logprobs: 5 })).choices
  return Math.min(
    ...(choice?.logprobs.top_logprobs ?? []).map(top => {
      const [best = NaN, next = NaN] = Object.values(top).toSorted((a, b) => b - a)
      return best - next
    }),
  )
}

/** Which model and filter finds its own answer in the data; of every fifth question nobody does. */
const TURNS: readonly (readonly [model: (typeof MODELS)[number], filter: FilterName])[] = [
  ['base', 'strict-match'],
  ['adapter', 'strict-match'],
  ['base', 'flexible-extract'],
  ['adapter', 'flexible-extract'],
]

async function pickQuestions(url: string): Promise<{ question: string; answer: string }[]> {
  const picked: { question: string; answer: string }[] = []
  let minMargin = Infinity
  for (const { question, answer } of (['ro', 'en'] as const).flatMap((language): Problem[] =>
    generateProblems({ language, split: 'test', count: CANDIDATES, seed: 11 }),
  )) {
    const replies = Object.fromEntries(
      await Promise.all(
        MODELS.map(async model => [model, await post(url, gsm8kRequest(model, question))] as const),
      ),
    ) as Record<(typeof MODELS)[number], Reply>
    const margins = await Promise.all(
      MODELS.map(model =>
        marginOf(url, gsm8kRequest(model, question), replies[model].usage.completion_tokens),
      ),
    )
    if (!(Math.min(...margins) >= MIN_MARGIN)) continue
    minMargin = Math.min(minMargin, ...margins)
    const turn = TURNS[picked.length % (TURNS.length + 1)]
    const own = turn ? extractAnswer(turn[1], replies[turn[0]].choices[0]?.text ?? '') : INVALID
    picked.push({
      question,
      answer: own === INVALID ? answer : answer.replace(/#### .*$/, () => `#### ${own}`),
    })
  }
  console.log(`${picked.length} questions, the closest token ${minMargin} ahead`)
  return picked
}

async function readBody(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

function readReply(text: string): Pick<Recorded, 'text' | 'finish_reason' | 'usage'> {
  const {
    choices: [choice],
    usage,
  } = JSON.parse(text) as {
    choices: { text: string; finish_reason: string }[]
    usage: { prompt_tokens: number; completion_tokens: number }
  }
  if (!choice) throw new Error(`a completion without a choice: ${text}`)
  return {
    text: choice.text,
    finish_reason: choice.finish_reason,
    usage: [usage.prompt_tokens, usage.completion_tokens],
  }
}

/** Stands before the server and keeps what passes. */
async function startRecorder(target: string) {
  const [kept, asked]: [Recorded[], Recording['asked']] = [[], []]
  const server = createServer(async (request, response) => {
    const body = await readBody(request)
    const { 'content-type': type = '', authorization } = request.headers
    const headers = { 'content-type': type, ...(authorization !== undefined && { authorization }) }
    const answer = await fetch(target + request.url, {
      method: request.method ?? 'GET',
      headers,
      ...(body !== '' && { body }),
    })
    const text = await answer.text()
    const [method, path] = [request.method ?? '', request.url ?? '']
    if (body === '') asked.push({ method, path, status: answer.status })
    else
      kept.push({
        method,
        path,
        headers,
        body: JSON.parse(body) as Recorded['body'],
        status: answer.status,
        ...readReply(text),
      })
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    kept,
    asked,
    close: () => server.close(),
  }
}

const lines = (list: readonly object[]) => list.map(one => `  ${JSON.stringify(one)}`).join(',\n')

const paths = await writeReplayModel(directory)
const serving = spawn(
  process.execPath,
  [here('../../../cli/src/main.ts'), 'serve', ...serveArguments(paths), '--json'],
  { stdio: ['ignore', 'pipe', 'inherit'] },
)
try {
  const [first] = (await once(createInterface(serving.stdout), 'line')) as [string]
  const { url } = JSON.parse(first) as { url: string }
  writeFileSync(
    here('replay-questions.jsonl'),
    (await pickQuestions(url)).map(question => `${JSON.stringify(question)}\n`).join(''),
  )
  const recorder = await startRecorder(url)
  const models: Recording['models'] = {}
  for (const model of MODELS)
    models[model] = await runHarness({
      url: recorder.url,
      model,
      tokenizer: paths.base,
      questions: here('replay-questions.jsonl'),
      output: join(directory, `harness-${model}`),
    })
  recorder.close()
  const by = ({ body: { model, prompt } }: Recorded) => `${model} ${prompt}`
  const requests = recorder.kept.toSorted((a, b) => (by(a) < by(b) ? -1 : 1))
  const told = Object.entries(models)
    .map(
      ([model, { results, judged }]) =>
        `  ${JSON.stringify(model)}: {"results": ${JSON.stringify(results)}, "judged": ` +
        `[\n${lines(judged)}\n  ]}`,
    )
    .join(',\n')
  writeFileSync(
    here('replay.json'),
    `{\n "harness": "lm_eval 0.4.13",\n "models": {\n${told}\n },\n "asked": ` +
      `[\n${lines(recorder.asked)}\n ],\n "requests": [\n${lines(requests)}\n ]\n}\n`,
  )
} finally {
  serving.kill('SIGINT')
  rmSync(directory, { recursive: true })
}
