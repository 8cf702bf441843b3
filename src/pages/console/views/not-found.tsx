import { Page } from '../parts/page.js'
import { linkTo } from '../state/route.js'

export function NotFound() {
  return (
    <Page title="Page not found">
      <p>
        Choose one from the menu, or go to the <a href={linkTo(['overview'])}>overview</a>.
      </p>
    </Page>
  )
}
