/** A failure, a question and a blocked goal are each stated in one place of the chat. */
import { expect, test } from 'vitest'
import { openBrowser, openPage, takePictures } from './browser.ts'
import { by } from './page-session.ts'
import { startService } from './server.ts'
import { isType, newSession, say, waitFor } from './session.ts'
import { placeOfStates } from './shown-state.ts'

test('the chat states a failure, a question and a blocked goal once each', async () => {
  const server = await startService(placeOfStates())
  const { client } = server
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  const open = async (text: string, until: Parameters<typeof waitFor>[3]) => {
    const id = await newSession(client)
    await waitFor(client, id, await say(client, id, text), until)
    await page.goto(`${server.url}/sessions/${id}`)
  }
  const chat = page.locator('.chat')

  await open('break it', isType('session.fail'))
  await chat.getByText('no such thing').waitFor()
  await by(page, 'retry').waitFor()
  await takePictures(page, 'chat-failed')
  expect(await chat.getByText('no such thing').count()).toBe(1)
  expect(await page.locator('.state-bar').textContent()).toBe('The work so far is saved.Retry')

  await open('ask me', isType('inbox.input_required'))
  await by(page, 'composer', '[data-mode="answer"]').waitFor()
  expect(await chat.getByText('blue').count()).toBe(1)
  expect(await by(page, 'composer').getAttribute('placeholder')).toBe('Or write your own answer')

  await open('/goal ship it', isType('inbox.action_required'))
  await by(page, 'action-card').getByText('Only you have the key.').waitFor()
  await takePictures(page, 'chat-goal-blocked')
  await expect.poll(() => chat.getByText('Only you have the key.').count()).toBe(1)
  // The decided card leaves the verdict as a line.
  await by(page, 'complete-action').click()
  await chat.getByText('Goal blocked: Only you have the key.').waitFor()
  expect(troubles).toEqual([])
})
