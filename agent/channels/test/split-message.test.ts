import fc from 'fast-check'
import { expect, test } from 'vitest'
import { splitMessage } from '../src/split-message.ts'

const words = fc.array(fc.constantFrom('word', 'a', '. ', '\n', '\n\n', '😀', ' ', 'x'.repeat(90)), {
  maxLength: 120,
})

test('the joined parts equal the text, and each part is within the limit', () => {
  fc.assert(
    fc.property(words, fc.integer({ min: 80, max: 300 }), (list, limit) => {
      const text = list.join('')
      const parts = splitMessage(text, limit)
      expect(parts.join('')).toBe(text)
      for (const part of parts) {
        expect(part.length).toBeLessThanOrEqual(limit)
        expect(part.isWellFormed()).toBe(true)
      }
    }),
  )
})

test('a split code block is closed, and reopened with its language', () => {
  const code = Array.from({ length: 40 }, (_, at) => `line ${at}`).join('\n')
  const parts = splitMessage(`Look:\n\`\`\`ts\n${code}\n\`\`\`\nDone.`, 160)
  expect(parts.length).toBeGreaterThan(2)
  for (const part of parts) {
    expect(part.match(/^```/gm)?.length ?? 0).toSatisfy((count: number) => count % 2 === 0)
    expect(part.length).toBeLessThanOrEqual(160)
  }
  expect(parts[1]).toMatch(/^```ts\n/)
})
