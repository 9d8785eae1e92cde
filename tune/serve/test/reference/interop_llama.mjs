// llama.cpp's side of interop_gguf.ts: greedy continuations of prompts of token ids, the likeliest first
// tokens with their log-probabilities, and ids of texts. node interop_llama.mjs INSTALL
// MODEL.gguf [ADAPTER.gguf] < {"prompts",
// "tokens", "texts"}
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [install, modelPath, adapter] = process.argv.slice(2)
const entry = createRequire(pathToFileURL(join(install, 'package.json'))).resolve('node-llama-cpp')
const { getLlama } = await import(pathToFileURL(entry).href)
const { prompts, tokens: count, texts } = JSON.parse(readFileSync(0, 'utf8'))
const llama = await getLlama({ gpu: false, maxThreads: 2, build: 'never', logLevel: 'error' })
const model = await llama.loadModel({ modelPath })
const context = await model.createContext({
  contextSize: 512,
  threads: { ideal: 1, min: 1 },
  // A cache in f16, and its flash attention, move log-probabilities by some thousandths.
  flashAttention: false,
  experimentalKvCacheKeyType: 'F32',
  experimentalKvCacheValueType: 'F32',
  ...(adapter ? { lora: { adapters: [{ filePath: adapter, scale: 1 }] } } : {}),
})
const sequence = context.getSequence()
const answers = []
for (const prompt of prompts) {
  await sequence.clearHistory()
  const last = prompt.length - 1
  const [first] = (
    await sequence.controlledEvaluate([
      ...prompt.slice(0, last),
      [
        prompt[last],
        { generateNext: { probabilities: true, options: { temperature: 1, topK: 0, topP: 1, minP: 0 } } },
      ],
    ])
  ).filter(Boolean)
  const likeliest = [...first.next.probabilities]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 40)
    .map(([id, probability]) => ({ id, logprob: Math.log(probability) }))
  const token = likeliest[0].id
  const tokens = [token]
  for await (const next of sequence.evaluate([token], { temperature: 0, yieldEogToken: true })) {
    tokens.push(next)
    if (tokens.length >= count) break
  }
  answers.push({ tokens: tokens.slice(0, count), likeliest })
}
const ids = texts.map(text => model.tokenize(text, true))
process.stdout.write(JSON.stringify({ answers, ids }), () => process.exit(0))
