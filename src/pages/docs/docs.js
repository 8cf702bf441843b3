/** Opens this gateway's OpenAPI document in RapiDoc, and adds what assistive technology misses there. */

/** The page is `<root>/api/v2/docs/`, wherever the gateway is mounted. */
const root = new URL('../../..', location.href).href.replace(/\/$/, '')

/** https://rapidocweb.com/api.html */
const OPTIONS = {
  'spec-url': '../openapi.json',
  'server-url': root,
  'render-style': 'focused',
  'schema-description-expanded': 'true',
  'show-header': 'false',
  'allow-server-selection': 'false',
  'allow-advanced-search': 'false',
  'load-fonts': 'false',
  'regular-font': 'system-ui, sans-serif',
  'mono-font': 'ui-monospace, Menlo, Consolas, monospace',
  'font-size': 'large',
}

/** Attributes that the viewer leaves out, by the elements that need them. */
const ATTRIBUTES = {
  '.nav-bar': { 'aria-label': 'API' },
  '.nav-scroll': { 'aria-label': 'Operations' },
  '#nav-bar-search': { 'aria-label': 'Filter' },
  '[data-action=navigate][tabindex]': { role: 'link' },
  '.nav-bar-tag, .nav-bar-expand-all, .nav-bar-collapse-all': { role: 'button' },
  '.nav-bar-tag-icon': { 'aria-hidden': 'true' },
  '.api-key-input': { type: 'password', autocomplete: 'off' },
  '.request-body-param-user-input': { 'aria-label': 'Body' },
  'select:not([aria-label])': { 'aria-label': 'Example' },
  pre: { tabindex: '0' },
}

function repair(shadow) {
  for (const [selector, attributes] of Object.entries(ATTRIBUTES))
    for (const element of shadow.querySelectorAll(selector))
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  // The group's own button does the same.
  for (const icon of shadow.querySelectorAll('.nav-bar-tag-icon')) icon.removeAttribute('tabindex')
  for (const input of shadow.querySelectorAll('[data-pname]'))
    input.setAttribute('aria-label', input.dataset.pname)
  for (const input of shadow.querySelectorAll('.api-key-input'))
    input.setAttribute('aria-label', input.closest('tr').querySelector('span').textContent)
}

for (const name of ['rapi-doc', 'api-request', 'api-response']) {
  const { prototype } = customElements.get(name)
  const { updated } = prototype
  prototype.updated = function repairUpdated(changed) {
    updated.call(this, changed)
    repair(this.shadowRoot)
  }
}

const viewer = document.createElement('rapi-doc')
for (const [name, value] of Object.entries(OPTIONS)) viewer.setAttribute(name, value)
viewer.append(document.querySelector('h1'))

const dark = matchMedia('(prefers-color-scheme: dark)')
const setTheme = () => viewer.setAttribute('theme', dark.matches ? 'dark' : 'light')
dark.addEventListener('change', setTheme)
setTheme()

viewer.addEventListener('before-try', ({ detail: { request } }) => {
  // The probes have a server of their own. The page's policy allows requests to its own origin only.
  const { pathname, search } = new URL(request.url)
  request.url = location.origin + pathname + search
})

document.body.append(viewer)
