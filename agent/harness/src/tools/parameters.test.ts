import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineTool, toolJsonSchema } from './parameters.ts'

const Parameters = z.strictObject({ path: z.string().describe('which file') })
const make = () =>
  defineTool({
    name: 'look',
    description: 'Looks.',
    parameters: Parameters,
    readOnly: true,
    idempotent: true,
    run: ({ path }) => Promise.resolve({ content: path }),
  })

test('tools that are created for each turn share one JSON Schema', () => {
  expect(toolJsonSchema(make())).toMatchObject({ properties: { path: { description: 'which file' } } })
  expect(toolJsonSchema(make())).toBe(toolJsonSchema(make()))
})

test('a capability creates the schemas of its tools once, not for each turn', () => {
  const src = join(import.meta.dirname, '..')
  const sources = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(path => path.endsWith('.ts'))
  // The tools of a worker and of an MCP server are created once, with their schemas.
  const once = /^(?:tools|capabilities\/mcp)\//
  const perTurn = sources.filter(path => !once.test(path) && !path.endsWith('.test.ts'))
  expect(perTurn.length).toBeGreaterThan(50)
  const inline = perTurn.filter(path => /\bparameters: z\./.test(readFileSync(join(src, path), 'utf8')))
  expect(inline).toEqual([])
})
