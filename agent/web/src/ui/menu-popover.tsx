/** The open menu of a button. Separate from the button, because the first page has no open menu. */
import { type ReactNode, type RefObject, useRef } from 'react'
import { Menu, MenuItem, Popover } from 'react-aria-components'

export type MenuEntry = {
  id: string
  text: string
  icon?: ReactNode
  /** At the end of the line. */
  detail?: string
  /** A sentence below the text. */
  hint?: string
  testId?: string
}
type MenuSpec = {
  label: string
  entries: readonly MenuEntry[]
  disabled?: readonly string[]
  /** Shown above the entries. */
  head?: ReactNode
  placement?: 'bottom start' | 'bottom end'
  onChoose: (id: string) => void
}

type Props = {
  menu: MenuSpec
  button: RefObject<HTMLButtonElement | null>
  /** Called when the menu is dismissed without a choice. On a choice, `onChoose` must close it. */
  onClose: () => void
}

// React.lazy needs a default export.
export default function MenuPopover({ menu, button, onClose }: Props) {
  const isChosen = useRef(false)
  return (
    <Popover
      className="popover"
      aria-label={menu.label}
      placement={menu.placement ?? 'bottom end'}
      triggerRef={button}
      isOpen
      onOpenChange={isOpen => {
        if (!isOpen && !isChosen.current) onClose()
      }}
    >
      {menu.head}
      <Menu
        className="menu"
        aria-label={menu.label}
        autoFocus="first"
        disabledKeys={menu.disabled ?? []}
        onAction={key => {
          isChosen.current = true
          menu.onChoose(String(key))
        }}
      >
        {menu.entries.map(({ id, text, icon, detail, hint, testId }) => (
          <MenuItem key={id} id={id} textValue={text} className="menu-item" data-testid={testId}>
            {icon}
            <span>
              {text}
              {hint !== undefined && <span className="menu-hint">{hint}</span>}
            </span>
            {detail !== undefined && <span className="faint">{detail}</span>}
          </MenuItem>
        ))}
      </Menu>
    </Popover>
  )
}
