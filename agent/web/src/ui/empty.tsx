/** A place without content yet: one sentence, an explanation, and the button that fills it. */
import type { ReactNode } from 'react'
import './page.css'

type Props = {
  icon?: ReactNode
  title: string
  children?: ReactNode
  /** The level of the heading: 1 if nothing else names the page. */
  level?: 1 | 2
  testId?: string
  isAlert?: boolean
}

export function Empty({ icon, title, children, level = 2, testId, isAlert = false }: Props) {
  const Heading = level === 1 ? 'h1' : 'h2'
  return (
    <div className="empty" data-testid={testId} role={isAlert ? 'alert' : undefined}>
      {icon}
      <Heading>{title}</Heading>
      {children}
    </div>
  )
}
