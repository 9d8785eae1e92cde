// llama.cpp's side of against-llama.ts, through node-llama-cpp installed anywhere outside this repository; a
// child process that measures when it is told to.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [directory, modelPath, threads, prompt, answer, flash] = process.argv.slice(2)
const [promptLength, answerLength] = [Number(prompt), Number(answer)]
const entry = createRequire(pathToFileURL(join(directory, 'package.json'))).resolve('node-llama-cpp')
const { getLlama } = await import(pathToFileURL(entry).href)
const llama = await getLlama({ gpu: false, maxThreads: Number(threads), build: 'never', logLevel: 'error' })
const model = await llama.loadModel({ modelPath })

// Contexts stay: what is measured finds its memory touched.
const contexts = new Map()
async function sequencesOf(count) {
  if (!contexts.has(count)) {
    const context = await model.createContext({
      sequences: count,
      contextSize: promptLength + answerLength + 16,
      batchSize: Math.max(512, count),
      threads: { ideal: Number(threads), min: Number(threads) },
      flashAttention: flash === 'flash',
    })
    contexts.set(
      count,
      Array.from({ length: count }, () => context.getSequence()),
    )
  }
  const sequences = contexts.get(count)
  for (const sequence of sequences) await sequence.clearHistory()
  return sequences
}

const cpuSeconds = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

async function measure(prompts) {
  const count = prompts.length
  const sequences = await sequencesOf(count)
  const firsts = Array.from({ length: count })
  const [start, startCpu] = [performance.now(), cpuSeconds()]
  let [begun, begunCpu, end, endCpu, began, after] = [0, 0, 0, 0, 0, 0]
  await Promise.all(
    sequences.map(async (sequence, s) => {
      let made = 0
      for await (const token of sequence.evaluate(prompts[s], { temperature: 0, yieldEogToken: true })) {
        if (made++ === 0) {
          firsts[s] = token
          if (++began === count) [begun, begunCpu] = [performance.now(), cpuSeconds()]
        } else if (began === count) {
          after++
        }
        if (made >= answerLength) break
      }
      ;[end, endCpu] = [performance.now(), cpuSeconds()]
    }),
  )
  const tokens = count * promptLength
  return {
    prefill: (tokens * 1000) / (begun - start),
    decode: (after * 1000) / (end - begun),
    prefillCpu: tokens / (begunCpu - startCpu),
    decodeCpu: after / (endCpu - begunCpu),
    firsts,
  }
}

process.on('message', prompts => void measure(prompts).then(result => process.send(result)))
process.send('ready')
