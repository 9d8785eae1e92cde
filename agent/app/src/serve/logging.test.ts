import { expect, test } from 'vitest'
import { createLogger, type Level, readLevel } from './logging.ts'

function logged(
  level: Level,
  pretty: boolean,
  speak: (log: ReturnType<typeof createLogger>) => void,
): string {
  let text = ''
  speak(
    createLogger({
      level,
      pretty,
      now: () => 0,
      write: line => (text += line),
      redact: json => json.replaceAll('s3cret', '[REDACTED]'),
    }),
  )
  return text
}

test('a line is JSON with time, level, message and fields, and errors include their stack', () => {
  const line = JSON.parse(
    logged('info', false, log => log.warn('it happened', { count: 2, error: new Error('boom') })),
  ) as Record<string, unknown>
  expect(line).toMatchObject({
    time: '1970-01-01T00:00:00.000Z',
    level: 'warn',
    message: 'it happened',
    count: 2,
  })
  expect(line['error']).toMatch(/^Error: boom\n +at /)
})

test('does not write lines below the level', () => {
  expect(
    logged('info', true, log => {
      log.debug('d')
      log.info('i')
      log.error('e')
    }),
  ).toBe('00:00:00 i\n00:00:00 error: e\n')
  expect(logged('silent', true, log => log.error('e'))).toBe('')
})

test('removes secrets from messages and fields', () => {
  expect(
    logged('info', false, log =>
      log.info('key s3cret', { url: 'http://s3cret@host', nested: { deep: ['s3cret'] } }),
    ),
  ).not.toContain('s3cret')
  expect(logged('info', true, log => log.info('key s3cret', { a: 's3cret' }))).toBe(
    '00:00:00 key [REDACTED] a=[REDACTED]\n',
  )
})

test('rejects an unknown LOG_LEVEL and lists the valid ones', () => {
  expect([readLevel(undefined), readLevel('WARN')]).toEqual(['info', 'warn'])
  expect(() => readLevel('loud')).toThrow(
    'LOG_LEVEL: expected one of debug, info, warn, error, silent, got "loud"',
  )
})
