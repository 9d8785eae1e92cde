/** The comparison as Markdown: figures, and ours over theirs, above 1 where ours is better. */
import { cpus, release, totalmem } from 'node:os'
import type { Measured } from '@cairn/log/bench/peers/load'
import type { Peer } from '@cairn/log/bench/peers/peer'

/**
 * `server_us`: CPU of all processes of the server, an append or delivery; null where it runs within the load
 * generator.
 */
export type Figures = Measured & { server_us: number | null }
export type Line = {
  peer: Peer
  version: string | null
  /** Null where it was not measured. */ one: Figures | null
  many: Figures | null
  deliver: Figures | null
}
export type Probe = { per_second: number; p50_ms: number | null; p99_ms: number | null }

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })
const ms = (value: number): string => (value < 10 ? value.toFixed(2) : value.toFixed(1))
const ratio = (value: number): string => (value < 10 ? value.toFixed(2) : value.toFixed(0))
const cpu = (us: number | null | undefined): string => (us === null || us === undefined ? '–' : us.toFixed(1))
const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`

/** `base` is ours over HTTP: what a caller of the service gets. */
export function report(
  lines: readonly Line[],
  base: Line,
  probes: readonly Probe[],
  setting: {
    command: string
    clients: number
    readers: number
    perSecond: number
    seconds: number
    rounds: number
    load: readonly number[]
  },
): string {
  const { command, clients, readers, perSecond, seconds, rounds, load } = setting
  const all = cpus()
  const syncs = probes.map(
    probe =>
      `${whole.format(probe.per_second)}/s (p50 ${ms(probe.p50_ms ?? 0)}, p99 ${ms(probe.p99_ms ?? 0)} ms)`,
  )
  let text =
    `\`${command}\`, ${new Date().toISOString().slice(0, 10)}: ${all.length} × ` +
    `${all[0]?.model.trim() ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform} ` +
    `${release()} ${process.arch}, Node ${process.version}.\n`
  text +=
    `Median of ${rounds} rounds, each going round everybody in turn, ${seconds} s a measurement; load of ` +
    `the machine ${load.map(value => value.toFixed(1)).join(', ')}. A write of 600 bytes and fdatasync, ` +
    `before each round: ${syncs.join('; ')}.\n\n`
  text += row([
    '',
    'acknowledged means',
    '1 client, appends/s',
    `${clients} clients, appends/s`,
    'p50 / p99 ms',
    'ours ÷ theirs',
    `${readers.toLocaleString('en-US')} readers, ${perSecond} events/s: p50 / p99 ms`,
    'theirs ÷ ours (p99)',
  ])
  text += row(['---', '---', '---:', '---:', '---:', '---:', '---:', '---:'])
  for (const { peer, version, one, many, deliver } of lines) {
    if (version === null) continue
    const delivered =
      deliver === null
        ? '–'
        : `${ms(deliver.p50_ms)} / ` +
          `${ms(deliver.p99_ms)}${deliver.missing > 0 ? `, ${whole.format(deliver.missing)} never came` : ''}`
    text += row([
      `${peer.name} (${version})`,
      peer.acknowledged,
      one === null ? '–' : whole.format(one.per_second),
      many === null ? '–' : whole.format(many.per_second),
      many === null ? '–' : `${ms(many.p50_ms)} / ${ms(many.p99_ms)}`,
      many === null || base.many === null ? '–' : ratio(base.many.per_second / many.per_second),
      delivered,
      deliver === null || base.deliver === null ? '–' : ratio(deliver.p99_ms / base.deliver.p99_ms),
    ])
  }
  const missing = lines.filter(({ version }) => version === null)
  if (missing.length > 0)
    text +=
      `\nNot installed, so not ` +
      `measured:\n\n${missing.map(({ peer }) => `- ${peer.name}: ${peer.install}\n`).join('')}`
  text +=
    `\n–: makes no sense there, or took longer than a minute and a half.\n\nWhere the cores went, µs of ` +
    `CPU:\n\n`
  text += row([
    '',
    `an append, ${clients} clients: server`,
    'load generator',
    `a delivery, ${readers.toLocaleString('en-US')} readers: server`,
    'load generator',
  ])
  text += row(['---', '---:', '---:', '---:', '---:'])
  for (const { peer, version, many, deliver } of lines)
    if (version !== null)
      text += row([
        peer.name,
        cpu(many?.server_us),
        cpu(many?.load_us),
        cpu(deliver?.server_us),
        cpu(deliver?.load_us),
      ])
  return text
}
