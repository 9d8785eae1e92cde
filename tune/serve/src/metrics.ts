/** /metrics, in Prometheus' text format, with our own names, and those of vLLM for its dashboards. */
import type { AdapterRegistry } from './adapter-registry.ts'
import type { Histogram } from './engine/latencies.ts'
import type { ServedModel } from './served-model.ts'

type Metric = {
  name: string
  type: 'gauge' | 'counter' | 'histogram'
  help: string
  values: readonly (readonly [labels: string, value: number])[]
}

type Measured = { model: ServedModel; adapters: AdapterRegistry }

const one = (name: string, type: Metric['type'], help: string, value: number): Metric => ({
  name,
  type,
  help,
  values: [['', value]],
})

function ownMetrics({ model, adapters }: Measured): Metric[] {
  const { scheduler, blocks, generator } = model
  const { counts } = generator
  return [
    one('requests_running', 'gauge', 'Sequences being computed.', scheduler.running.length),
    one('requests_waiting', 'gauge', 'Sequences waiting for cache blocks.', scheduler.waiting.length),
    one('kv_cache_usage_ratio', 'gauge', 'Fraction of the cache in use by sequences.', usedShare(blocks)),
    one('adapters_loaded', 'gauge', 'Adapters in memory.', adapters.list().length),
    one('prompt_tokens_total', 'counter', 'Prompt tokens.', counts.promptTokens),
    one(
      'prompt_tokens_cached_total',
      'counter',
      'Prompt tokens found in the prefix cache.',
      counts.cachedTokens,
    ),
    one('generation_tokens_total', 'counter', 'Generated tokens.', counts.generatedTokens),
    one('passes_total', 'counter', 'Forward passes.', counts.steps),
    one(
      'preemptions_total',
      'counter',
      'Sequences preempted to free blocks for older ones.',
      scheduler.preemptions,
    ),
    {
      name: 'requests_ended_total',
      type: 'counter',
      help: 'Finished sequences.',
      values: Object.entries(counts.ended).map(([reason, value]) => [`{reason="${reason}"}`, value] as const),
    },
  ]
}

const usedShare = (blocks: Measured['model']['blocks']) => 1 - blocks.available() / blocks.total

function vllmMetrics({ model }: Measured): Metric[] {
  const { scheduler, blocks, generator, names } = model
  const { counts, latencies } = generator
  const label = `model_name=${JSON.stringify(names[0] ?? '')}`
  const labelled = (name: string, type: Metric['type'], help: string, value: number): Metric => ({
    name,
    type,
    help,
    values: [[`{${label}}`, value]],
  })
  const histogram = (name: string, help: string, measured: Histogram): Metric => ({
    name,
    type: 'histogram',
    help,
    values: histogramValues(measured, label),
  })
  return [
    labelled('num_requests_running', 'gauge', 'Requests being computed.', scheduler.running.length),
    labelled('num_requests_waiting', 'gauge', 'Waiting requests.', scheduler.waiting.length),
    labelled(
      'kv_cache_usage_perc',
      'gauge',
      'Fraction of the KV cache in use; 1 is full.',
      usedShare(blocks),
    ),
    labelled('num_preemptions_total', 'counter', 'Preempted requests.', scheduler.preemptions),
    labelled('prompt_tokens_total', 'counter', 'Prompt tokens.', counts.promptTokens),
    labelled('generation_tokens_total', 'counter', 'Generated tokens.', counts.generatedTokens),
    labelled(
      'prefix_cache_queries_total',
      'counter',
      'Tokens looked up in the prefix cache.',
      counts.promptTokens,
    ),
    labelled('prefix_cache_hits_total', 'counter', 'Tokens found in the prefix cache.', counts.cachedTokens),
    {
      name: 'request_success_total',
      type: 'counter',
      help: 'Finished requests by reason.',
      values: Object.entries(counts.ended).map(
        ([reason, value]) => [`{finished_reason="${reason}",${label}}`, value] as const,
      ),
    },
    histogram('time_to_first_token_seconds', 'Time to first token, in seconds.', latencies.firstToken),
    histogram('inter_token_latency_seconds', 'Time between two tokens, in seconds.', latencies.nextToken),
    histogram('e2e_request_latency_seconds', 'Time of a whole request, in seconds.', latencies.request),
  ]
}

/** Buckets are cumulative, so the last one counts all values. */
function histogramValues({ bounds, counts, sum }: Histogram, label: string): Metric['values'] {
  let below = 0
  const buckets = counts.map((count, i): [string, number] => {
    below += count
    return [`_bucket{le="${bounds[i] ?? '+Inf'}",${label}}`, below]
  })
  return [...buckets, [`_sum{${label}}`, sum], [`_count{${label}}`, below]]
}

const textOf =
  (prefix: string) =>
  ({ name, type, help, values }: Metric): string[] => [
    `# HELP ${prefix}${name} ${help}`,
    `# TYPE ${prefix}${name} ${type}`,
    ...values.map(([labels, value]) => `${prefix}${name}${labels} ${value}`),
  ]

export const metricsText = (app: Measured): string =>
  [...ownMetrics(app).flatMap(textOf('cairn_tune_')), ...vllmMetrics(app).flatMap(textOf('vllm:'))].join(
    '\n',
  ) + '\n'
