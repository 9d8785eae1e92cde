/** Passes the input of the person in control to the front page. Nothing of it is stored. */
import type { Dialog } from 'playwright-core'
import type { FromViewer } from './live-messages.ts'
import type { Screencast } from './screencast.ts'
import type { SessionBrowser } from './session-browser.ts'

type Input = Exclude<FromViewer, { t: 'ack' }>

const MOUSE = { move: 'mouseMoved', down: 'mousePressed', up: 'mouseReleased', wheel: 'mouseWheel' } as const
/** Windows virtual key codes, which Chromium's editing commands use. */
const KEY_CODES: Readonly<Record<string, number>> = {
  Backspace: 8,
  Tab: 9,
  Enter: 13,
  Escape: 27,
  ' ': 32,
  PageUp: 33,
  PageDown: 34,
  End: 35,
  Home: 36,
  ArrowLeft: 37,
  ArrowUp: 38,
  ArrowRight: 39,
  ArrowDown: 40,
  Delete: 46,
}

/** Input that may submit a form, whose sensitive fields must be remembered first. */
const mayLeave = (input: Input): boolean =>
  (input.t === 'key' && input.kind === 'down' && (input.key === 'Enter' || input.key === ' ')) ||
  (input.t === 'mouse' && input.kind === 'down') ||
  input.t === 'nav' ||
  input.t === 'go' ||
  input.t === 'tab'

export async function doInput(
  browser: SessionBrowser,
  screencast: Screencast,
  input: Input,
  dialog: Dialog | null,
): Promise<void> {
  if (mayLeave(input)) await browser.remember()
  switch (input.t) {
    case 'mouse': {
      const { kind, x, y, button, clicks, dx, dy, mods } = input
      const session = await screencast.session()
      await session.send('Input.dispatchMouseEvent', {
        type: MOUSE[kind],
        x,
        y,
        button,
        clickCount: kind === 'down' || kind === 'up' ? clicks : 0,
        deltaX: dx,
        deltaY: dy,
        modifiers: mods,
      })
      return
    }
    case 'key':
      return pressKey(screencast, input)
    case 'paste':
      await (await screencast.session()).send('Input.insertText', { text: input.text })
      return browser.remember()
    case 'tab':
      return changeTab(browser, screencast, input)
    case 'nav': {
      const page = screencast.page()
      if (input.action === 'back') await page?.goBack()
      else if (input.action === 'forward') await page?.goForward()
      else await page?.reload()
      return
    }
    case 'go':
      await screencast.page()?.goto(input.url, { waitUntil: 'commit' })
      return
    case 'dialog':
      if (input.accept) await dialog?.accept(input.text)
      else await dialog?.dismiss()
      return
  }
}

async function pressKey(
  screencast: Screencast,
  { kind, key, code, text, mods }: Extract<Input, { t: 'key' }>,
): Promise<void> {
  const session = await screencast.session()
  const number = KEY_CODES[key] ?? (/^[a-z0-9]$/i.test(key) ? key.toUpperCase().charCodeAt(0) : 0)
  const written = key === 'Enter' ? '\r' : text
  await session.send('Input.dispatchKeyEvent', {
    type: kind === 'up' ? 'keyUp' : written === '' ? 'rawKeyDown' : 'keyDown',
    key,
    code,
    modifiers: mods,
    windowsVirtualKeyCode: number,
    nativeVirtualKeyCode: number,
    ...(kind === 'down' && written !== '' ? { text: written, unmodifiedText: written } : {}),
  })
}

async function changeTab(
  { launched: { context } }: SessionBrowser,
  screencast: Screencast,
  { action, index }: Extract<Input, { t: 'tab' }>,
): Promise<void> {
  if (action === 'new') await context.newPage()
  else if (action === 'show') await screencast.show(index)
  // Never close the last page: a browser without a page ends.
  else if (context.pages().length > 1) await context.pages()[index]?.close()
}
