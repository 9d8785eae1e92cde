import { expect, test } from 'vitest'
import { keyInput, modsOf, mouseInput, pointOf } from './page-input.ts'

const plain = { altKey: false, ctrlKey: false, metaKey: false, shiftKey: false }
const picture = { left: 100, top: 50, width: 640, height: 400 }
const page = { width: 1280, height: 800 }

test('maps a point on the image to the page, and a point outside it to null', () => {
  expect(pointOf({ clientX: 100, clientY: 50 }, picture, page)).toEqual({ x: 0, y: 0 })
  expect(pointOf({ clientX: 420, clientY: 250 }, picture, page)).toEqual({ x: 640, y: 400 })
  expect(pointOf({ clientX: 99, clientY: 250 }, picture, page)).toBeNull()
  expect(pointOf({ clientX: 420, clientY: 451 }, picture, page)).toBeNull()
})

test('a key types its character; shortcuts and named keys type none', () => {
  expect(keyInput('down', { ...plain, key: 'ä', code: 'Quote' })).toMatchObject({ text: 'ä', key: 'ä' })
  expect(keyInput('down', { ...plain, key: '😀', code: '' })).toMatchObject({ text: '😀' })
  expect(keyInput('down', { ...plain, ctrlKey: true, key: 'a', code: 'KeyA' })).toMatchObject({
    text: '',
    mods: 2,
  })
  expect(keyInput('down', { ...plain, key: 'Enter', code: 'Enter' })).toMatchObject({ text: '' })
  expect(keyInput('up', { ...plain, key: 'a', code: 'KeyA' })).toMatchObject({ text: '', kind: 'up' })
})

test('a click has its button and click count; modifiers are combined', () => {
  expect(mouseInput('down', { x: 1, y: 2 }, { ...plain, button: 2, detail: 5 })).toMatchObject({
    button: 'right',
    clicks: 3,
  })
  expect(mouseInput('move', { x: 1, y: 2 }, { ...plain, button: 0, detail: 0 })).toMatchObject({
    button: 'none',
  })
  expect(modsOf({ altKey: true, ctrlKey: true, metaKey: true, shiftKey: true })).toBe(15)
})
