/** The open menu of a button. Apart from the button: the first page has no menu open. */
import { type ReactNode, type RefObject, useRef } from 'react'
import { Menu, MenuItem, Popover } from 'react-aria-components'

export type MenuEntry = { id: string; text: string; icon?: ReactNode; detail?: string; testId?: string }
type MenuSpec = {
  label: string
  entries: readonly MenuEntry[]
  disabled?: readonly string[]
  /** Above the entries. */
  head?: ReactNode
  placement?: 'bottom start' | 'bottom end'
  onChoose: (id: string) => void
}

type Props = {
  menu: MenuSpec
  button: RefObject<HTMLButtonElement | null>
  /** It was left without a choice; who is told of a choice closes it. */
  onClose: () => void
}

// React.lazy takes a default export only.
export default function MenuPopover({ menu, button, onClose }: Props) {
  const isChosen = useRef(false)
  return (
    <Popover
      className="popover"
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
        {menu.entries.map(({ id, text, icon, detail, testId }) => (
          <MenuItem key={id} id={id} textValue={text} className="menu-item" data-testid={testId}>
            {icon}
            <span>{text}</span>
            {detail !== undefined && <span className="faint">{detail}</span>}
          </MenuItem>
        ))}
      </Menu>
    </Popover>
  )
}
