/** /metrics, in Prometheus' text format. */
import type { App } from './http/routes.ts'

type Metric = {
  name: string
  type: 'gauge' | 'counter'
  help: string
  values: readonly (readonly [labels: string, value: number])[]
}

export function metricsText({ model, adapters }: Pick<App, 'model' | 'adapters'>): string {
  const {
    scheduler,
    blocks,
    generator: { counts },
  } = model
  const one = (name: string, type: Metric['type'], help: string, value: number): Metric => ({
    name,
    type,
    help,
    values: [['', value]],
  })
  const metrics: Metric[] = [
    one('requests_running', 'gauge', 'Sequences that are computed.', scheduler.running.length),
    one('requests_waiting', 'gauge', 'Sequences that wait for cache blocks.', scheduler.waiting.length),
    one(
      'kv_cache_usage_ratio',
      'gauge',
      'Share of the cache that sequences read.',
      1 - blocks.available() / blocks.total,
    ),
    one('adapters_loaded', 'gauge', 'Adapters that can be asked for.', adapters.list().length),
    one('prompt_tokens_total', 'counter', 'Tokens of prompts.', counts.promptTokens),
    one(
      'prompt_tokens_cached_total',
      'counter',
      'Tokens of prompts that were found in the cache.',
      counts.cachedTokens,
    ),
    one('generation_tokens_total', 'counter', 'Tokens generated.', counts.generatedTokens),
    one('passes_total', 'counter', 'Forward passes.', counts.steps),
    one(
      'preemptions_total',
      'counter',
      'Sequences that gave up their blocks for older ones.',
      scheduler.preemptions,
    ),
    {
      name: 'requests_ended_total',
      type: 'counter',
      help: 'Sequences that ended.',
      values: Object.entries(counts.ended).map(([reason, value]) => [`{reason="${reason}"}`, value] as const),
    },
  ]
  return (
    metrics
      .flatMap(({ name, type, help, values }) => [
        `# HELP cairn_tune_${name} ${help}`,
        `# TYPE cairn_tune_${name} ${type}`,
        ...values.map(([labels, value]) => `cairn_tune_${name}${labels} ${value}`),
      ])
      .join('\n') + '\n'
  )
}
