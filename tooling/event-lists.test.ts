/**
 * The properties of an event type are stated once, on its row in agent/protocol/src/events/. A list of type
 * names elsewhere becomes outdated when a type is added, and no compiler reports it. This gate does.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { EVENT_TYPES } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { listPackages, readSources, root } from './workspace.ts'

const quoted = `'(?:${EVENT_TYPES.map(type => type.replaceAll('.', String.raw`\.`)).join('|')})'`
const prefixes = [...new Set(EVENT_TYPES.map(type => type.slice(0, type.indexOf('.'))))].join('|')

/** An array of two or more names, and a regular expression over name prefixes. */
const LIST = new RegExp(String.raw`\[\s*(?:${quoted},?\s*){2,}\]`)
const PATTERN = new RegExp(String.raw`/[^/\n]*\b(?:${prefixes})\\\.[^/\n]*/`)

/** Benchmarks wait for a sequence of events, which is not a property of their types. */
const isBench = (path: string) => path.includes('/bench/')
const isContract = (path: string) => path.startsWith('agent/protocol/src/events/')

const sources = listPackages('agent')
  .flatMap(readSources)
  .filter(file => !file.isTest && !isBench(file.path) && !isContract(file.path))

test('no list or pattern of event names exists outside the event table', () => {
  expect(sources.length).toBeGreaterThan(300)
  expect(sources.filter(file => LIST.test(file.text) || PATTERN.test(file.text)).map(f => f.path)).toEqual([])
})

test('the gate detects a list and a pattern', () => {
  expect(LIST.test("new Set([\n  'llm.response',\n  'tool.result',\n])")).toBe(true)
  expect(PATTERN.test(String.raw`/^(llm\.|tool\.)/`)).toBe(true)
  expect(LIST.test("['llm.response']")).toBe(false)
  expect(readFileSync(join(root, 'agent/protocol/src/events/conversation.ts'), 'utf8')).toContain(
    'usage: true',
  )
})
