// The same measurement for llama.cpp, through node-llama-cpp installed anywhere outside this repository:
// node llama-cpp.mjs DIRECTORY_WITH_NODE_MODULES MODEL.gguf THREADS [PROMPT] [ANSWER] [SEQUENCES]
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [directory, modelPath, threads = '1', prompt = '128', answer = '32', counts = '1,8,50'] = process.argv.slice(2)
const entry = createRequire(pathToFileURL(join(directory, 'package.json'))).resolve('node-llama-cpp')
const { getLlama } = await import(pathToFileURL(entry).href)
const llama = await getLlama({ gpu: false, maxThreads: Number(threads), build: 'never', logLevel: 'error' })
const model = await llama.loadModel({ modelPath })

async function measure(count) {
  const context = await model.createContext({ sequences: count, contextSize: Number(prompt) + Number(answer) + 16, batchSize: Math.max(512, count), threads: { ideal: Number(threads), min: Number(threads) }, flashAttention: false })
  const sequences = Array.from({ length: count }, () => context.getSequence())
  const start = performance.now()
  let begun = 0
  let first = 0
  let after = 0
  let end = 0
  await Promise.all(sequences.map(async (sequence, s) => {
    const ids = Array.from({ length: Number(prompt) }, (_, i) => 3 + ((s * 7919 + i * 104_729) % 256))
    let made = 0
    for await (const _ of sequence.evaluate(ids, { temperature: 0, yieldEogToken: true })) {
      if (made++ === 0) {
        begun = performance.now()
        first++
      } else if (first === count) {
        after++
      }
      if (made >= Number(answer)) break
    }
    end = performance.now()
  }))
  await context.dispose()
  return { count, prefill: (count * Number(prompt) * 1000) / (begun - start), decode: (after * 1000) / (end - begun) }
}

console.log('| sequences | prefill tok/s | decode tok/s |\n|---|---|---|')
for (const count of counts.split(',').map(Number)) {
  await measure(count)
  const { prefill, decode } = await measure(count)
  console.log(`| ${count} | ${prefill.toFixed(0)} | ${decode.toFixed(1)} |`)
}
await model.dispose()
