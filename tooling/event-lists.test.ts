/**
 * What holds for an event type is stated once, on its row in agent/protocol/src/events.ts. A list of type
 * names elsewhere drifts when a type is added, and no compiler says so: this gate does.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { EVENT_TYPES } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { listPackages, readSources, root } from './workspace.ts'

const quoted = `'(?:${EVENT_TYPES.map(type => type.replaceAll('.', String.raw`\.`)).join('|')})'`
const prefixes = [...new Set(EVENT_TYPES.map(type => type.slice(0, type.indexOf('.'))))].join('|')

/** An array of two names or more, and a regular expression over prefixes of names. */
const LIST = new RegExp(String.raw`\[\s*(?:${quoted},?\s*){2,}\]`)
const PATTERN = new RegExp(String.raw`/[^/\n]*\b(?:${prefixes})\\\.[^/\n]*/`)

/** Benchmarks wait for a sequence of events; that is no fact about them. */
const isBench = (path: string) => path.includes('/bench/')
const isContract = (path: string) => path === 'agent/protocol/src/events.ts'

const sources = listPackages('agent')
  .flatMap(readSources)
  .filter(file => !file.isTest && !isBench(file.path) && !isContract(file.path))

test('no list and no pattern of event names stands beside the contract', () => {
  expect(sources.length).toBeGreaterThan(300)
  expect(sources.filter(file => LIST.test(file.text) || PATTERN.test(file.text)).map(f => f.path)).toEqual([])
})

test('the gate sees a list and a pattern', () => {
  expect(LIST.test("new Set([\n  'llm.response',\n  'tool.result',\n])")).toBe(true)
  expect(PATTERN.test(String.raw`/^(llm\.|tool\.)/`)).toBe(true)
  expect(LIST.test("['llm.response']")).toBe(false)
  expect(readFileSync(join(root, 'agent/protocol/src/events.ts'), 'utf8')).toContain('usage: true')
})
