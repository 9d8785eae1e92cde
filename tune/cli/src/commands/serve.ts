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
import { readTemplate } from '@cairn-tune/weights'
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

/** Removes options that were not given. */
const given = <T extends object>(values: T) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }

export const serveRun = defineCommand({
  name: 'serve',
  summary: 'Serve a model and adapters over HTTP: /v1/completions, /v1/chat/completions, /v1/models',
  usage: [
    ['serve MODEL', 'run until Ctrl-C'],
    ['  --port N, --host NAME', `address to listen on; default: ${DEFAULTS.port} and ${DEFAULTS.host}`],
    [
      '  --max-model-len N',
      'maximum tokens of prompt and answer together; default: the positions of the model',
    ],
    [
      '  --enable-lora',
      'serve adapters: those of --lora-modules, and with VLLM_ALLOW_RUNTIME_LORA_UPDATING=True also ' +
        'adapters loaded at runtime',
    ],
    ['  --lora-modules NAME=DIR …', 'adapters to load at startup; also {"name": …, "path": …}'],
    ['  --max-lora-rank N', `maximum rank of an adapter; default: ${DEFAULTS.maxLoraRank}`],
    ['  --max-loras N', `maximum adapters in one batch; default: ${DEFAULTS.maxLoras}`],
    ['  --max-cpu-loras N', 'maximum adapters in memory; default: 8 × --max-loras'],
    ['  --chat-template FILE', 'chat template instead of that of the model; a file or the text itself'],
    ['  --api-key KEY …', 'API keys; every request must send one of them. VLLM_API_KEY adds another'],
    [
      '  --allowed-origins ORIGINS',
      'origins of web pages that may send requests: *, or a list separated by commas or in JSON',
    ],
    ['  --max-num-seqs N', `maximum sequences in one batch; default: ${DEFAULTS.maxSequences}`],
    ['  --max-num-batched-tokens N', `maximum rows of a forward pass; default: ${DEFAULTS.maxBatchedTokens}`],
    [
      '  --kv-cache-memory SIZE',
      'memory of keys and values, such as 2GiB; default: at most a quarter of the memory',
    ],
    [
      `  --quantization ${quantizations.join('|')}`,
      'storage format of the projections; default: as in the checkpoint',
    ],
    [
      '  --skip-quant-first-layers N --skip-quant-last-layers N',
      'layers that --quantization leaves unchanged, for adapters trained that way',
    ],
    [`  --dtype ${dtypes.join('|')}`, 'dtype of activations; default: that of the checkpoint'],
    ['  --device cpu|cuda[:n]', 'processor or GPU to compute on; default: cpu'],
    ['  --no-prefix-caching', 'disable the prefix cache'],
    ['  --served-model-name NAME', 'name of the base in requests; default: MODEL'],
    ['  --threads N', `compute threads; default: ${availableParallelism()} on this machine`],
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
    device: { type: 'string' },
  },
  async run({ values, positionals }, io) {
    const [model, ...more] = positionals
    if (model === undefined) throw new UsageError('expected MODEL, a directory or a name on the hub')
    const stranger = more.find(text => !text.includes('=') && !text.startsWith('{'))
    if (stranger !== undefined) throw new UsageError(`unexpected argument ${JSON.stringify(stranger)}`)
    // vLLM accepts several modules after one --lora-modules.
    const loraModules = readModules([...(values['lora-modules'] ?? []), ...more])
    if (!values['enable-lora'] && Object.keys(loraModules).length > 0)
      throw new UsageError('--lora-modules needs --enable-lora')
    const template = values['chat-template']
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
        chatTemplate: template === undefined ? undefined : await readTemplate('--chat-template', template),
        apiKeys: values['api-key'],
        allowedOrigins: readOrigins(values['allowed-origins']),
        maxSequences: number('max-num-seqs'),
        maxBatchedTokens: number('max-num-batched-tokens'),
        threads: number('threads'),
        device: values.device,
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
    const name = values['served-model-name']?.[0] ?? model
    const line = `serving ${model} at ${server.url}; requests name it "${name}"`
    io.out(values.json ? `${JSON.stringify({ url: server.url })}\n` : `${line}\n`)
    await stopped.promise
    await server.close()
    return EXIT.ok.code
  },
})
