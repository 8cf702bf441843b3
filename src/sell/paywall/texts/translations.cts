/**
 * The paywall's texts in its languages.
 *
 * CommonJS in both builds: in Node 20, an ES module imports no JSON without a warning.
 */
import de = require('./de.json')
import en = require('./en.json')
import es = require('./es.json')
import fr = require('./fr.json')
import ja = require('./ja.json')
import ko = require('./ko.json')
import pt = require('./pt.json')
import zh = require('./zh.json')

/** Texts by language. The first is the default. */
export const translations = { en, de, es, fr, pt, zh, ja, ko } satisfies Record<string, typeof en>
