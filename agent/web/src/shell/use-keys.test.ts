import { expect, test } from 'vitest'
import { NAV_PAGES, pagesFor } from './nav-pages.ts'
import { pageOfKey } from './use-keys.ts'

test('G and a letter open a page, each page has its own letter, and members have no pages of administrators', () => {
  expect(pageOfKey('h', NAV_PAGES)).toBe('/')
  expect(pageOfKey('i', NAV_PAGES)).toBe('/inbox')
  expect(pageOfKey('s', NAV_PAGES)).toBe('/sessions')
  expect(pageOfKey('x', NAV_PAGES)).toBeUndefined()
  expect(new Set(NAV_PAGES.map(({ key }) => key)).size).toBe(NAV_PAGES.length)
  expect(pageOfKey('u', pagesFor(false))).toBeUndefined()
  expect(pagesFor(false).map(({ to }) => to)).toEqual([
    '/',
    '/inbox',
    '/sessions',
    '/missions',
    '/schedules',
    '/agents',
  ])
})
