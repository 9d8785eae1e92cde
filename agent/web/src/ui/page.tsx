/** The frame of a page: its head with title, facts and actions, and its content in one of three widths. */
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { InboxCount } from './inbox-count.tsx'
import { BackIcon } from './icons.tsx'
import './page.css'
import './table.css'
import { generalWords } from '../words/general.ts'

type Props = {
  title: ReactNode
  /** Beside the title: a state, a filter. */
  facts?: ReactNode
  /** At the end of the head. */
  actions?: ReactNode
  /** Where the back button of a phone leads; the sessions by default, and null: there is none. */
  back?: ReactNode
  /** To read, a page of lists and tables, or the whole sheet. */
  width?: 'read' | 'page' | 'full'
  children: ReactNode
}

export const Page = ({ title, facts, actions, back, width = 'page', children }: Props) => (
  <div className="page-frame">
    <header className="page-head">
      {back === undefined ? <BackLink /> : back}
      <h1>{title}</h1>
      {facts}
      {actions !== undefined && <div className="page-actions">{actions}</div>}
    </header>
    {width === 'full' ? (
      children
    ) : (
      <div className="page-scroll">
        <div className="page-body" data-width={width}>
          {children}
        </div>
      </div>
    )}
  </div>
)

/**
 * On a phone, the way back to the sessions. Where the navigation makes room for the composer, it carries the
 * number of items that wait for a person.
 */
export const BackLink = ({ hasCount = false }: { hasCount?: boolean }) => (
  <Link to="/sessions" className="button quiet square back">
    <BackIcon />
    <span className="visually-hidden">{generalWords.backToSessions}</span>
    {hasCount && <InboxCount />}
  </Link>
)
