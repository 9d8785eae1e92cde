/**
 * The first visit offers to set a password. An expired login is reported, and the next login returns to the
 * same page.
 */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openBrowser, openPage, takePictures } from './browser.ts'
import { cairn, makePlace, startService } from './server.ts'
import { newSession } from './session.ts'

const by = (page: Page, id: string) => page.locator(`[data-testid="${id}"]`)

test('the first visit offers a password, and a login after an expired one returns to the same page', async () => {
  const place = makePlace()
  const server = await startService(place)
  const id = await newSession(server.client)
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(`${server.url}/login`)
  await by(page, 'login-form').waitFor()
  await takePictures(page, 'login')
  await page.goto('about:blank')
  await page.goto(server.loginUrl)
  await by(page, 'home').waitFor()
  await page.goto(`${server.url}/sessions/${id}`)
  await by(page, 'composer').waitFor()
  expect(await by(page, 'password-offer').count(), 'only the first page offers a password').toBe(0)
  await page.goto(server.url)
  await by(page, 'password-offer').getByRole('button', { name: 'Set password' }).click()
  await by(page, 'new-password').fill('correct horse battery')
  await by(page, 'save-password').click()
  await by(page, 'password-offer').waitFor({ state: 'detached' })

  // On a page whose URL has more than a path.
  await page.goto(`${server.url}/sessions/${id}?rail=plan`)
  await by(page, 'composer').fill('not sent yet')
  const before = page.url()
  await page.context().clearCookies()
  // Another request may have noticed it already: then the composer is gone.
  await page.keyboard.press('Enter')
  await by(page, 'login-ended').waitFor()
  await by(page, 'login-email').fill('admin@localhost')
  await by(page, 'login-password').fill('correct horse battery')
  await by(page, 'login-submit').click()
  await by(page, 'login-form').waitFor({ state: 'detached' })
  expect(page.url()).toBe(before)
  await by(page, 'rail').waitFor()
  expect(await by(page, 'composer').inputValue(), 'what was typed is there').toBe('not sent yet')

  // Logging out shows no message about an expired login.
  await by(page, 'account').click()
  await by(page, 'logout').click()
  await by(page, 'login-form').waitFor()
  await page.goto(`${server.url}/inbox`)
  await by(page, 'login-form').waitFor()
  expect(await by(page, 'login-ended').count()).toBe(0)
  // `cairn login` prints a link that needs no password.
  await page.goto('about:blank')
  await page.goto((await cairn(place, ['login'])).stdout.trim())
  await by(page, 'home').waitFor()
  expect(troubles.filter(trouble => !trouble.includes('401'))).toEqual([])
})
