/** The inbox page, as tests use it. */
import type { InboxKind } from '@cairn/protocol'
import type { Locator, Page } from 'playwright-core'

type Wanted = { kind?: InboxKind; text?: string; status?: string }

export function itemRow(page: Page, { kind, text, status }: Wanted): Locator {
  const row = page.locator(
    '[data-testid="inbox-row"]' +
      (kind === undefined ? '' : `[data-kind="${kind}"]`) +
      (status === undefined ? '' : `[data-status="${status}"]`),
  )
  return text === undefined ? row : row.filter({ hasText: text })
}

/** Opens the first such item and returns the pane that shows it. */
export async function openItem(page: Page, wanted: Wanted): Promise<Locator> {
  const row = itemRow(page, wanted).first()
  await row.getByRole('button').last().click()
  await page.locator('[data-testid="inbox-row"][data-open]').and(row).waitFor()
  return page.getByTestId('inbox-item')
}

export const showTab = (page: Page, tab: 'needs' | 'news' | 'snoozed' | 'decided'): Promise<void> =>
  page.getByTestId(`inbox-tab-${tab}`).click()
