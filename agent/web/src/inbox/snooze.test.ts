import { expect, test } from 'vitest'
import { snoozeTime } from './snooze.ts'

/** 2026-11-29 is a Sunday. */
const day = (date: number, hour = 15): Date => new Date(2026, 10, date, hour, 30)

test('an hour later, the next morning, and the morning of the next Monday', () => {
  expect(snoozeTime('hour', day(29))).toEqual(new Date(2026, 10, 29, 16, 30))
  expect(snoozeTime('tomorrow', day(29))).toEqual(new Date(2026, 10, 30, 9))
  expect(snoozeTime('tomorrow', day(29, 3)), 'after midnight').toEqual(new Date(2026, 10, 30, 9))
  expect(snoozeTime('monday', day(29)), 'on a Sunday').toEqual(new Date(2026, 10, 30, 9))
  expect(snoozeTime('monday', day(30, 8)), 'on a Monday').toEqual(new Date(2026, 11, 7, 9))
  expect(snoozeTime('monday', day(25)), 'on a Wednesday').toEqual(new Date(2026, 10, 30, 9))
})
