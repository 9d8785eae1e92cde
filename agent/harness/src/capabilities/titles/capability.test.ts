import { expect, test } from 'vitest'
import { cleanTitle, fallbackTitle } from './capability.ts'

test('a title is the first line without quotes, markup and prefix', () => {
  expect(cleanTitle('"Fix the login page."')).toBe('Fix the login page')
  expect(cleanTitle('\n## Title: Weekly report\nand more')).toBe('Weekly report')
  expect(cleanTitle(' "" ')).toBeNull()
})

test('without a model the title is the message, cut to sixty characters', () => {
  expect(fallbackTitle('  what\nis   this ')).toBe('what is this')
  expect(fallbackTitle('x'.repeat(100))).toHaveLength(60)
  expect(fallbackTitle(' ')).toBe('New session')
})
