import { readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import {
  DEFAULTS,
  QUANTIZATIONS,
  readModules,
  readOrigins,
  startServer,
  type Quantization,
} from '@cairn-tune/serve'
import { parseBytes } from '@cairn-tune/train'
import { InputError } from '@cairn-tune/weights'
import { defineCommand, wholeNumber } from '../command.ts'
import { EXIT, UsageError } from '../exit.ts'

const quantizations = Object.keys(QUANTIZATIONS) as Quantization[]
const dtypes = ['auto', 'bf16', 'f32'] as const

function readChoice<const T extends string>(
  name: string,
  text: string | undefined,
  known: readonly T[],
): T | undefined {
  if (text === undefined) return undefined
  const found = known.find(one => one === text)
  if (!found) throw new UsageError(`--${name} must be ${known.join(', ')}, got ${JSON.stringify(text)}`)
  return found
}

/** A file, or the template itself, which no file is named like. */
async function readTemplate(given: string | undefined): Promise<string | undefined> {
  if (given === undefined || given.includes('{{') || given.includes('{%')) return given
  return await readFile(given, 'utf8').catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new InputError(`--chat-template ${given}: cannot be read: ${why}`, { cause })
  })
}

/** Leaves out what was not given. */
const given = <T extends object>(values: T) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }

export const serveRun = defineCommand({
  name: 'serve',
  summary: 'Serve a model and adapters over HTTP: /v1/completions, /v1/chat/completions, /v1/models',
  usage: [
    ['serve MODEL', 'until Ctrl-C'],
    ['  --port N, --host NAME', `where it listens; ${DEFAULTS.port} and ${DEFAULTS.host} unless given`],
    [
      '  --max-model-len N',
      'tokens of prompt and answer together; what the model has positions for unless given',
    ],
    [
      '  --enable-lora',
      'serve adapters; those of --lora-modules, and with VLLM_ALLOW_RUNTIME_LORA_UPDATING=True those ' +
        'loaded later',
    ],
    ['  --lora-modules NAME=DIR …', 'adapters that are there from the start; also {"name": …, "path": …}'],
    ['  --max-lora-rank N', `${DEFAULTS.maxLoraRank} unless given`],
    ['  --max-loras N', `adapters that answer at the same time; ${DEFAULTS.maxLoras} unless given`],
    [
      '  --max-cpu-loras N',
      'adapters in memory, of which the last used have a place; 8 × --max-loras unless given',
    ],
    ['  --chat-template FILE', 'a template in place of the model’s; also its text'],
    ['  --api-key KEY …', 'one of them must come with every request; VLLM_API_KEY is one too'],
    [
      '  --allowed-origins ORIGINS',
      'whose pages may send requests and read answers in a browser: *, a list with commas or in JSON',
    ],
    ['  --max-num-seqs N', `sequences computed at the same time; ${DEFAULTS.maxSequences} unless given`],
    ['  --max-num-batched-tokens N', `rows of a forward pass; ${DEFAULTS.maxBatchedTokens} unless given`],
    [
      '  --kv-cache-memory SIZE',
      'of keys and values, such as 2GiB; a quarter of the memory at most unless given',
    ],
    [
      `  --quantization ${quantizations.join('|')}`,
      'how the projections are stored; as the checkpoint has them unless given',
    ],
    [
      '  --skip-quant-first-layers N --skip-quant-last-layers N',
      'layers that --quantization leaves as they are, for adapters that were trained so',
    ],
    [`  --dtype ${dtypes.join('|')}`, 'of activations; that of the checkpoint unless given'],
    ['  --no-prefix-caching', 'compute every prompt whole'],
    ['  --served-model-name NAME', 'what requests call the base; MODEL unless given'],
    ['  --threads N', `threads that compute; ${availableParallelism()} here unless given`],
  ],
  options: {
    port: { type: 'string' },
    host: { type: 'string' },
    'max-model-len': { type: 'string' },
    'enable-lora': { type: 'boolean', default: false },
    'lora-modules': { type: 'string', multiple: true },
    'max-lora-rank': { type: 'string' },
    'max-loras': { type: 'string' },
    'max-cpu-loras': { type: 'string' },
    'chat-template': { type: 'string' },
    'api-key': { type: 'string', multiple: true },
    'allowed-origins': { type: 'string' },
    'max-num-seqs': { type: 'string' },
    'max-num-batched-tokens': { type: 'string' },
    'kv-cache-memory': { type: 'string' },
    quantization: { type: 'string' },
    'skip-quant-first-layers': { type: 'string' },
    'skip-quant-last-layers': { type: 'string' },
    dtype: { type: 'string' },
    'no-prefix-caching': { type: 'boolean', default: false },
    'served-model-name': { type: 'string', multiple: true },
    threads: { type: 'string' },
  },
  async run({ values, positionals }, io) {
    const [model, ...more] = positionals
    if (model === undefined) throw new UsageError('expected MODEL, a directory or a name on the hub')
    const stranger = more.find(text => !text.includes('=') && !text.startsWith('{'))
    if (stranger !== undefined) throw new UsageError(`unexpected argument ${JSON.stringify(stranger)}`)
    // As vLLM's flag does, one --lora-modules may be followed by several.
    const loraModules = readModules([...(values['lora-modules'] ?? []), ...more])
    if (!values['enable-lora'] && Object.keys(loraModules).length > 0)
      throw new UsageError('--lora-modules needs --enable-lora')
    const number = (
      name:
        | 'port'
        | 'skip-quant-first-layers'
        | 'skip-quant-last-layers'
        | 'max-model-len'
        | 'max-lora-rank'
        | 'max-loras'
        | 'max-cpu-loras'
        | 'max-num-seqs'
        | 'max-num-batched-tokens'
        | 'threads',
    ) => wholeNumber(name, values[name], name === 'port' || name.startsWith('skip') ? 0 : 1)
    const server = await startServer({
      model,
      env: io.env,
      log: io.note,
      enableLora: values['enable-lora'],
      loraModules,
      prefixCaching: !values['no-prefix-caching'],
      ...given({
        port: number('port'),
        host: values.host,
        servedModelNames: values['served-model-name'],
        maxModelLen: number('max-model-len'),
        maxLoraRank: number('max-lora-rank'),
        maxLoras: number('max-loras'),
        maxCpuLoras: number('max-cpu-loras'),
        chatTemplate: await readTemplate(values['chat-template']),
        apiKeys: values['api-key'],
        allowedOrigins: readOrigins(values['allowed-origins']),
        maxSequences: number('max-num-seqs'),
        maxBatchedTokens: number('max-num-batched-tokens'),
        threads: number('threads'),
        kvCacheBytes:
          values['kv-cache-memory'] === undefined ? undefined : parseBytes(values['kv-cache-memory']),
        skipQuantFirstLayers: number('skip-quant-first-layers'),
        skipQuantLastLayers: number('skip-quant-last-layers'),
        quantization: readChoice('quantization', values.quantization, quantizations),
        dtype: readChoice('dtype', values.dtype, dtypes),
      }),
    })
    const stopped = Promise.withResolvers<void>()
    io.signal.addEventListener('abort', () => stopped.resolve(), { once: true })
    if (io.signal.aborted) stopped.resolve()
    io.out(values.json ? `${JSON.stringify({ url: server.url })}\n` : `${model} is served at ${server.url}\n`)
    await stopped.promise
    await server.close()
    return EXIT.ok.code
  },
})
