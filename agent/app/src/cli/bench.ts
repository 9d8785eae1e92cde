/** cairn bench: measures the log and the service on this machine, next to what its disk can do. */
import { writeFileSync } from 'node:fs'
import { tmpdir, cpus, release, totalmem } from 'node:os'
import { benchHttp } from '@cairn/api/bench/http'
import { benchSandboxes } from '@cairn/harness/bench/boxes'
import { benchChildren } from '@cairn/harness/bench/children'
import { benchLife } from '@cairn/harness/bench/life'
import { benchAppend } from '@cairn/log/bench/append'
import { benchAcp } from '../bench/acp.ts'
import { benchSandboxedAgent } from '../bench/sandboxed-agent.ts'
import { benchChannels } from '../bench/channels.ts'
import { benchFiles } from '../bench/files.ts'
import { benchFirstEvent } from '../bench/first-event.ts'
import { benchSwarm, SWARM_LEVELS } from '../bench/swarm.ts'
import { figureTable, lifeTable, readingTable, swarmTable } from '../bench/table.ts'
import { defineCommand, takePositionals } from './command.ts'
import { EXIT, UsageError } from '../exit.ts'

const PARTS = ['log', 'http', 'turn', 'files', 'children', 'swarm', 'life', 'acp', 'channels', 'boxes']

export const bench = defineCommand({
  name: 'bench',
  summary: 'Measure the performance of the service on this machine',
  usage: [
    [
      'bench',
      'measure the disk, the log, HTTP requests, whole turns, file tools, workers, many turns at ' +
        'once and long sessions',
    ],
    ['  --dir DIRECTORY', 'measure the log on the disk of this directory, not of the temporary directory'],
    ['  --only log|http|turn|files|children|swarm|life|acp|channels|boxes', 'run one part only'],
    ['  --turns 20,300', 'numbers of concurrent turns, comma-separated; default 20,100,300,600'],
    ['  --out FILE', 'also write the table to a new file'],
  ],
  options: {
    dir: { type: 'string' },
    only: { type: 'string' },
    turns: { type: 'string', default: SWARM_LEVELS.join(',') },
    out: { type: 'string', short: 'o' },
  },
  async run({ values, positionals }, io) {
    takePositionals(positionals, [])
    const machine = describeMachine()
    const directory = values.dir ?? tmpdir()
    const { only } = values
    if (only !== undefined && !PARTS.includes(only))
      throw new UsageError(`Invalid --only "${only}": must be one of ${PARTS.join(', ')}`)
    const levels = readLevels(values.turns)
    const wants = (part: string): boolean => only === undefined || only === part
    io.note('Running benchmarks (about five minutes for all). Keep the machine otherwise idle.')
    const log = wants('log') ? await benchAppend(directory) : []
    const http = wants('http') ? await benchHttp() : []
    const turn = wants('turn') ? await benchFirstEvent(directory) : []
    const files = wants('files') ? await benchFiles(directory) : []
    const children = wants('children') ? await benchChildren(directory) : []
    const swarm = wants('swarm') ? await benchSwarm(directory, levels) : []
    const life = wants('life') ? await benchLife(directory) : []
    const acp = wants('acp') ? await benchAcp(directory) : []
    const channels = wants('channels') ? await benchChannels(directory) : []
    const boxes = wants('boxes')
      ? [...(await benchSandboxes(directory)), ...(await benchSandboxedAgent(directory))]
      : []
    const measured = { log, http, turn, files, children, swarm, life, acp, channels, boxes }
    const tables = [
      ...(log.length > 0 ? [figureTable(log)] : []),
      ...(http.length > 0 ? [readingTable('over HTTP', http)] : []),
      ...(turn.length > 0 ? [readingTable('a turn', turn)] : []),
      ...(files.length > 0 ? [readingTable('files of a workspace', files)] : []),
      ...(children.length > 0 ? [readingTable('workers', children)] : []),
      ...(swarm.length > 0 ? [swarmTable(swarm)] : []),
      ...(life.length > 0 ? [lifeTable(life)] : []),
      ...(acp.length > 0 ? [readingTable('cairn acp', acp)] : []),
      ...(channels.length > 0 ? [readingTable('a channel', channels)] : []),
      ...(boxes.length > 0 ? [readingTable('boxes', boxes)] : []),
    ]
    const text = `${machineLine(machine)}\nLog directory: ${directory}\n\n${tables.join('\n')}`
    io.out(values.json ? `${JSON.stringify({ machine, directory, ...measured })}\n` : text)
    if (values.out !== undefined) writeFileSync(values.out, text, { flag: 'wx' })
    return EXIT.ok.code
  },
})

function readLevels(text: string): number[] {
  const levels = text.split(',').map(Number)
  if (!levels.every(level => Number.isInteger(level) && level > 0 && level <= 5000))
    throw new UsageError(`Invalid --turns "${text}": must be comma-separated numbers from 1 to 5000`)
  return levels
}

/** The machine that the figures were measured on. */
type Machine = { cpu: string; cores: number; memory_gib: number; system: string; node: string }

function describeMachine(): Machine {
  const all = cpus()
  return {
    cpu: all[0]?.model.trim() || 'unknown',
    cores: all.length,
    memory_gib: Math.round(totalmem() / 2 ** 30),
    system: `${process.platform} ${release()} ${process.arch}`,
    node: process.version,
  }
}

const machineLine = ({ cpu, cores, memory_gib, system, node }: Machine): string =>
  `${cores} × ${cpu}, ${memory_gib} GiB, ${system}, Node ${node}`
