/**
 * The same session with every model server of the zoo. Runs a sample of the servers in `npm test`, all with
 * CAIRN_TESTS=all; `npm run dev -- providers` writes the table docs/providers.md.
 */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { oneIn } from '@cairn/protocol/test/sample'
import { ZOO_NAMES } from '@cairn/scripted-model/test/zoo'
import { PAGE } from './table.ts'
import { startTour, STEP_NAMES, type Tour, type Visit } from './tour.ts'

const REFERENCE = 'openai'
const OTHERS = ZOO_NAMES.filter(name => name !== REFERENCE)
let tour: Tour
let reference: Visit

beforeAll(async () => {
  tour = await startTour()
  reference = await tour.visit(REFERENCE)
})
afterAll(() => tour[Symbol.asyncDispose]())

test('a session with OpenAI reaches the end of every step', () => {
  expect(reference.failures).toEqual({})
  expect(STEP_NAMES.length).toBe(8)
})

test.each(oneIn(OTHERS.length, OTHERS))('the same session with %s has the same log', async name => {
  const { failures, log } = await tour.visit(name)
  expect(failures).toEqual({})
  expect(log).toEqual(reference.log)
})

test('docs/providers.md has a row for each server, and every step of each is done', () => {
  const page = readFileSync(new URL(`../../../../${PAGE}`, import.meta.url), 'utf8')
  const rows = page.split('\n').filter(line => line.startsWith('| ['))
  expect(rows.map(row => /\[([^\]]+)\]/.exec(row)?.[1])).toEqual(ZOO_NAMES)
  expect(rows.filter(row => /[✗–]/.test(row))).toEqual([])
})
