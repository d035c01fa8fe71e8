"""An operator at a browser decides what waits, and sees what every run does."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import PATIENCE_MS, SHOTS
from tests.support.admin_screen import FINISH_MS, Desk, OpenAdmin, admin_browsers, keep
from tests.support.dev_process import ROOT, DevProcess, dev_process
from tests.support.wait_until import wait_until_sync

ADDRESSES = ("", "decided", "runs", "threads", "agents", "agents/desk", "system")
MANY = 70
"""Conversations; a socket takes 64 calls at once."""
STILL_USABLE_S = 4.0
"""For five hundred cards to be there, on a machine that does other things besides."""


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("admin") / "broken"


@pytest.fixture(scope="module")
def dev(broken: Path) -> Iterator[DevProcess]:
    agents = ROOT / "tests" / "browser" / "admin_agents"
    with dev_process(agents=agents, workers=2, env={"BROKEN_FILE": str(broken)}) as process:
        yield process.start()


@pytest.fixture(scope="module")
def person(dev: DevProcess) -> Desk:
    return Desk(dev)


@pytest.fixture
def open_admin(browser: Browser, dev: DevProcess) -> Iterator[OpenAdmin]:
    with admin_browsers(browser, dev.url, PATIENCE_MS) as open_:
        yield open_


@pytest.mark.req("ADM-09", "APR-04", "APR-05", "APR-31")
def test_a_gated_run_appears_without_a_reload_and_goes_on_when_it_is_approved(
    person: Desk, open_admin: OpenAdmin
) -> None:
    desk, other = open_admin(), open_admin("decided")
    expect(desk.page.get_by_role("heading", name="Inbox")).to_be_visible()

    run = person.say("Pay 1 for the hemp", title="Hemp from the Baltic")
    card = desk.approvals(run)
    expect(card).to_have_count(1)
    expect(card).to_contain_text("desk asks for dev-user in “Hemp from the Baltic”")
    expect(card.get_by_test_id("said")).to_contain_text("Pay 1 for the hemp")
    expect(card).to_contain_text("Supplier 1")
    expect(card.get_by_test_id("consequence")).to_contain_text("Send money from the shop's account")
    expect(card.get_by_test_id("expiry")).to_contain_text("rejected by itself in 48 h")
    card.get_by_test_id("approve").click()

    expect(card).to_have_count(0)
    expect(desk.by("just-decided")).to_contain_text("pay was approved by dev-admin, in a browser")
    decision = other.by("decision").first
    expect(decision).to_have_attribute("data-status", "approved")
    expect(decision.get_by_test_id("audit")).to_contain_text("dev-admin, in a browser")
    other.go(f"runs/{run['runId']}").expect_run("completed")


@pytest.mark.req("APR-11", "APR-12", "APR-13", "ADM-09")
def test_an_edit_is_checked_in_place_by_the_page_and_by_the_server_and_then_taken(
    person: Desk, open_admin: OpenAdmin
) -> None:
    tab = open_admin()
    card = tab.approvals(person.say("Pay 1 for tar"))
    card.get_by_test_id("edit").click()

    card.get_by_test_id("field-cents").fill("a lot")
    card.get_by_test_id("confirm-edit").click()
    expect(card.get_by_test_id("edit-trouble")).to_have_text("This has to be a number.")

    card.get_by_test_id("field-cents").fill("12.5")
    card.get_by_test_id("confirm-edit").click()
    expect(card.get_by_test_id("edit-trouble")).to_contain_text("cents")
    expect(card.get_by_test_id("field-cents")).to_have_attribute("aria-invalid", "true")

    card.get_by_test_id("field-cents").fill("0")
    card.get_by_test_id("confirm-edit").click()
    expect(card).to_have_count(0)
    tab.by("tab-decided").click()
    changed = tab.by("decision").first.get_by_test_id("edit-diff")
    expect(changed).to_contain_text(re.compile(r"cents\s*1250\s*0"))


@pytest.mark.req("APR-06", "APR-31")
def test_a_rejection_carries_its_reason_to_the_agent_and_the_record(
    person: Desk, open_admin: OpenAdmin
) -> None:
    tab = open_admin()
    run = person.say("Pay 1 for nothing")
    card = tab.approvals(run)
    card.get_by_test_id("reject").click()
    card.get_by_test_id("reason").fill("nobody knows them")
    card.get_by_test_id("confirm-reject").click()
    expect(card).to_have_count(0)

    tab.go(f"runs/{run['runId']}").expect_run("completed")
    expect(tab.by("audit")).to_contain_text("“nobody knows them”")
    tab.go(f"threads/{run['sessionId']}")
    expect(tab.page.get_by_role("log")).to_contain_text("nobody knows them")


@pytest.mark.req("APR-08", "APR-15", "ADM-09")
def test_three_calls_are_decided_together_after_a_reload_in_the_middle(
    person: Desk, open_admin: OpenAdmin
) -> None:
    tab = open_admin()
    run = person.say("Pay 3 at month's end")
    cards = tab.approvals(run)
    expect(cards).to_have_count(3)
    expect(cards.first.get_by_test_id("consequence")).to_contain_text("2 other calls")
    cards.first.get_by_test_id("select").check()
    tab.page.reload()
    expect(cards).to_have_count(3)

    for index in range(3):
        cards.nth(index).get_by_test_id("select").check()
    expect(tab.by("selected-count")).to_contain_text("3 of")
    tab.by("approve-selected").click()

    expect(cards).to_have_count(0)
    tab.go(f"runs/{run['runId']}").expect_run("completed")
    expect(tab.by("audit")).to_have_count(3)


@pytest.mark.req("APR-33")
def test_what_somebody_else_decided_goes_away_and_says_who_it_was(
    person: Desk, open_admin: OpenAdmin, dev: DevProcess
) -> None:
    tab = open_admin()
    run = person.say("Pay 1 for speed")
    card = tab.approvals(run)
    expect(card).to_have_count(1)
    Desk(dev, role="admin").call(
        "agents:agentResolveApproval",
        key=run["sessionId"],
        toolCallId="c0",
        decision="denied",
        via="cli",
    )

    expect(tab.by("just-decided")).to_contain_text(
        "pay was rejected by dev-admin, on the command line"
    )
    expect(card).to_have_count(0)


@pytest.mark.req("IMP-16")
def test_a_runs_page_tells_its_steps_waits_and_workers(person: Desk, open_admin: OpenAdmin) -> None:
    tab = open_admin()
    run = person.say("Pay 1 for the timeline")
    tab.approvals(run).get_by_test_id("to-run").click()
    tab.expect_run("awaiting_input")
    expect(tab.by("timeline")).to_contain_text("Waits for a person")
    Desk(person.dev, role="admin").call(
        "agents:agentResolveApproval", key=run["sessionId"], toolCallId="c0", decision="approved"
    )
    tab.expect_run("completed")

    kinds = tab.by("timeline-row").evaluate_all("rows => rows.map(row => row.dataset.kind)")
    assert [kind for kind in kinds if kind != "other"][:4] == ["turn", "llm", "wait", "tool"]
    tab.page.locator('[data-step="tool:pay:c0"] button').click()
    expect(tab.by("step-detail")).to_contain_text("worker-")
    expect(tab.by("step-detail")).to_contain_text("epoch: 2")
    expect(tab.by("step-detail")).to_contain_text("Supplier 1")


@pytest.mark.req("IMP-16", "RUN-03")
def test_a_run_that_waits_is_cancelled_and_one_that_failed_is_retried(
    person: Desk, open_admin: OpenAdmin, broken: Path
) -> None:
    waiting = person.say("Pay 1 in vain")
    tab = open_admin(f"runs/{waiting['runId']}")
    tab.by("cancel-run").click()
    tab.expect_run("cancelled")

    broken.touch()
    failed = person.say("Break something")
    tab.go(f"runs/{failed['runId']}").expect_run("failed")
    expect(tab.by("run-error")).to_contain_text("out for lunch")
    broken.unlink()
    tab.by("retry-run").click()
    tab.expect_run("completed")


@pytest.mark.req("IMP-16")
def test_a_run_and_the_one_that_it_asked_for_lead_to_each_other(
    person: Desk, open_admin: OpenAdmin
) -> None:
    run = person.say("Ask where the tar is", title="Looking for tar")
    tab = open_admin(f"runs/{run['runId']}")
    tab.expect_run("completed")
    tab.by("run-row").get_by_role("link").click()
    expect(tab.by("run-facts")).to_contain_text("clerk")
    tab.by("parent").click()
    expect(tab.page.get_by_role("heading", name="Looking for tar")).to_be_visible()


@pytest.mark.req("ADM-10", "IMP-16")
def test_an_agent_is_talked_to_from_its_page_and_the_talk_is_live(open_admin: OpenAdmin) -> None:
    tab = open_admin("agents/desk")
    tab.by("prompt").fill("Hello from the page")
    tab.by("start").click()
    log = tab.page.get_by_role("log")
    expect(log).to_contain_text("You said: Hello from the page")
    expect(tab.by("user")).to_have_text("dev-admin")

    tab.by("signal").fill("One more thing")
    tab.by("send-signal").click()
    expect(log).to_contain_text("One more thing")
    tab.by("nav-threads").click()
    expect(tab.by("thread-row").first).to_contain_text("dev-admin")


@pytest.mark.req("ACC-08")
def test_who_lacks_the_role_is_told_so_and_can_sign_in_as_somebody_else(
    person: Desk, open_admin: OpenAdmin, dev: DevProcess
) -> None:
    tab = open_admin()
    tab.by("sign-out").click()
    tab.by("token").fill("not a token")
    tab.page.get_by_role("button", name="Sign in", exact=True).click()
    expect(tab.by("token-trouble")).to_be_visible()

    tab.by("token").fill(person.token)
    tab.page.get_by_role("button", name="Sign in", exact=True).click()
    expect(tab.by("refused")).to_contain_text("You are signed in as dev-user, without a role")
    expect(tab.by("approval")).to_have_count(0)
    tab.page.get_by_role("button", name="another token").click()
    tab.by("token").fill(Desk(dev, role="admin").token)
    tab.page.get_by_role("button", name="Sign in", exact=True).click()
    expect(tab.by("user")).to_have_text("dev-admin")


@pytest.mark.req("IMP-04")
def test_a_gateway_that_goes_away_is_said_and_what_changed_meanwhile_is_caught_up(
    person: Desk, open_admin: OpenAdmin, dev: DevProcess
) -> None:
    tab = open_admin()
    expect(tab.by("connection")).to_have_attribute("data-state", "open")
    dev.wait_for_another("gateway", dev.kill("gateway"))
    run = person.say("Pay 1 after the fall")

    expect(tab.approvals(run)).to_have_count(1)
    expect(tab.by("connection")).to_have_attribute("data-state", "open")


@pytest.mark.parametrize("width", [1280, 390])
def test_every_page_can_be_read_by_anybody_at_any_width(
    person: Desk, open_admin: OpenAdmin, width: int
) -> None:
    run = person.say("Pay 2 for the pictures", title=f"Pictures of {width}")
    tab = open_admin(width=width)
    more = (f"runs/{run['runId']}", f"threads/{run['sessionId']}")
    found: dict[str, list[str]] = {}
    for address in (*ADDRESSES, *more):
        tab.page.emulate_media(color_scheme="light")
        tab.visit(address)
        expect(tab.page.get_by_role("heading", level=1)).to_be_visible()
        expect(tab.page.locator(".loading")).to_have_count(0)
        tab.expect_no_sideways_scroll()
        name = ("one-" if "/" in address else "") + (address.partition("/")[0] or "inbox")
        keep(tab, SHOTS / "admin", f"{name}-{width}-light")
        wrong = tab.violations()
        tab.page.emulate_media(color_scheme="dark")
        keep(tab, SHOTS / "admin", f"{name}-{width}-dark")
        if width == 1280:  # the colours are the same at any width
            wrong += tab.violations("color-contrast")
        if wrong:
            found[address] = wrong

    assert found == {}


@pytest.mark.req("ADM-09", "APR-08")
def test_more_conversations_than_a_socket_takes_calls_are_decided_together(
    person: Desk, open_admin: OpenAdmin
) -> None:
    tab = open_admin()
    runs = [person.say("Pay 1 of many") for _ in range(MANY)]
    for run in runs:
        expect(tab.approvals(run)).to_have_count(1)
    tab.by("select-all").click()
    tab.by("reject-selected").click()

    for run in runs:
        expect(tab.approvals(run)).to_have_count(0, timeout=FINISH_MS)
    expect(tab.by("batch-trouble")).to_have_count(0)
    expect(tab.by("just-decided")).to_contain_text("pay was rejected by dev-admin")


@pytest.mark.req("ADM-09")
def test_five_hundred_that_wait_stay_usable(person: Desk, open_admin: OpenAdmin) -> None:
    runs = [person.say("Pay 250") for _ in range(2)]
    admin = Desk(person.dev, role="admin")
    wait_until_sync(
        lambda: len(admin.call("agents:agentApprovals", limit=1000)) >= 500,
        description="five hundred calls wait",
        timeout_s=30,
    )
    tab = open_admin()
    expect(tab.by("approval").nth(499)).to_be_attached()
    began = time.monotonic()
    tab.by("select-all").click()
    expect(tab.by("selected-count")).to_contain_text("selected, in")
    tab.by("select-all").click()
    newest = tab.by("approval").last
    newest.scroll_into_view_if_needed()
    newest.get_by_test_id("reject").click()
    newest.get_by_test_id("reason").fill("too many")
    took = time.monotonic() - began
    for run in runs:
        admin.call("agents:agentCancel", key=run["sessionId"], runId=run["runId"])
        expect(tab.approvals(run)).to_have_count(0, timeout=FINISH_MS)

    assert took < STILL_USABLE_S


@pytest.mark.req("APR-04", "APR-05")
def test_a_call_is_decided_from_the_page_of_its_run(person: Desk, open_admin: OpenAdmin) -> None:
    run = person.say("Pay 2 from here")
    tab = open_admin(f"runs/{run['runId']}")
    cards = tab.approvals(run)
    expect(cards).to_have_count(2)
    expect(cards.first.get_by_test_id("select")).to_have_count(0)
    cards.first.get_by_test_id("approve").click()
    expect(cards).to_have_count(1)
    cards.get_by_test_id("reject").click()
    cards.get_by_test_id("reason").fill("once is enough")
    cards.get_by_test_id("confirm-reject").click()

    tab.expect_run("completed")
    expect(tab.by("audit").filter(has_text="once is enough")).to_have_count(1)


@pytest.mark.req("IMP-16")
def test_runs_are_found_by_when_they_began_and_what_they_used(
    person: Desk, open_admin: OpenAdmin
) -> None:
    run = person.say("Hello there", title="To be found")
    tab = open_admin(f"runs?key={run['sessionId']}")
    row = tab.page.locator(f'[data-run-id="{run["runId"]}"]')
    expect(row).to_have_attribute("data-status", "completed")
    tab.by("filter-time").select_option("hour")
    expect(tab.page).to_have_url(re.compile(r"time=hour"))
    tab.by("filter-minTokens").fill("1000000")
    expect(tab.by("empty")).to_contain_text("No run is like that")
    expect(tab.page).to_have_url(re.compile(r"minTokens=1000000"))
    tab.by("filter-minTokens").fill("2")
    expect(row).to_be_visible()

    tab.by("filter-time").select_option("between")
    tab.by("filter-until").fill("2020-01-01T00:00")
    expect(tab.by("empty")).to_be_visible()
    expect(tab.page).to_have_url(re.compile(r"until=20(19|20)-"))
    tab.by("filter-until").fill("")
    tab.by("filter-since").fill("2020-01-01T00:00")
    expect(tab.page).to_have_url(re.compile(r"since=(2019|2020)-"))
    expect(row).to_be_visible()
    tab.page.reload()
    expect(tab.by("filter-since")).to_have_value("2020-01-01T00:00")
    expect(row).to_be_visible()
    tab.by("filter-time").select_option("")
    expect(tab.page).not_to_have_url(re.compile(r"since="))


@pytest.mark.req("IMP-26")
def test_who_asked_for_it_is_notified_of_what_begins_to_wait_and_nobody_else(
    person: Desk, open_admin: OpenAdmin
) -> None:
    asked, other = open_admin("runs"), open_admin("runs")
    for each in (asked, other):
        each.page.add_init_script(
            """window.notices = [];
            window.Notification = class {
                static permission = 'granted';
                static requestPermission = async () => 'granted';
                constructor(title) { window.notices.push(title); }
            };
            Object.defineProperty(document, 'hidden', { get: () => true });"""
        )
        each.go()
    asked.by("notices").click()
    expect(asked.by("notices")).to_have_attribute("aria-pressed", "true")
    asked.visit("runs")
    run = person.say("Pay 1 for the notice")

    asked.page.wait_for_function("() => window.notices.length > 0")
    expect(other.approvals(run)).to_have_count(1)
    assert asked.page.evaluate("window.notices") == ["pay waits for you"]
    assert other.page.evaluate("window.notices") == []
    expect(asked.page).to_have_title(re.compile(r"^\(\d+\) Runs"))
    asked.go().by("notices").click()
    expect(asked.by("notices")).to_have_attribute("aria-pressed", "false")


@pytest.mark.req("IMP-16")
def test_a_conversation_is_taken_on_elsewhere_from_a_message_and_before_a_turn(
    person: Desk, open_admin: OpenAdmin
) -> None:
    paid = person.say("Pay 1 to begin with", title="The original")
    tab = open_admin(f"runs/{paid['runId']}")
    tab.approvals(paid).get_by_test_id("approve").click()
    tab.expect_run("completed")
    tab.page.locator('[data-step="llm:turn:0"] button').click()
    tab.by("fork-before").click()
    log = tab.page.get_by_role("log")
    expect(log).to_contain_text("Pay 1 to begin with")
    expect(log).not_to_contain_text("I will pay")
    expect(tab.page).not_to_have_url(re.compile(paid["sessionId"]))

    tab.go(f"threads/{paid['sessionId']}")
    asks = tab.page.locator('[data-testid="message"]').filter(has_text="I will pay 1")
    asks.hover()
    asks.get_by_test_id("fork").click()
    expect(tab.page).not_to_have_url(re.compile(paid["sessionId"]))
    expect(log).to_contain_text("I will pay 1")
    expect(log).not_to_contain_text("Done:")
    expect(tab.page.locator('[data-testid="message"]:not([data-role="tool"])')).to_have_count(2)
    tab.by("signal").fill("And now something else")
    tab.by("send-signal").click()
    expect(log).to_contain_text(re.compile("You said: .*And now something else"))
    tab.go(f"threads/{paid['sessionId']}")
    expect(log).to_contain_text("Done:")
    expect(log).not_to_contain_text("something else")
    expect(tab.by("state")).to_contain_text("1 in a list")


@pytest.mark.req("IMP-16")
def test_a_conversation_is_shown_with_the_state_of_the_branch_on_show_and_the_runs_of_all(
    person: Desk, open_admin: OpenAdmin
) -> None:
    first = person.say("Pay 1 and once more", title="Paid twice")
    tab = open_admin(f"runs/{first['runId']}")
    tab.approvals(first).get_by_test_id("approve").click()
    tab.expect_run("completed")
    again = person.call("agents:agentRegenerate", key=first["sessionId"])
    tab.go(f"runs/{again['id']}")
    tab.approvals({"runId": again["id"]}).get_by_test_id("approve").click()
    tab.expect_run("completed")

    tab.go(f"threads/{first['sessionId']}")

    expect(tab.by("state")).to_contain_text("2 in a list")
    tab.page.get_by_role("link", name="All runs of this conversation").click()
    expect(tab.by("run-row")).to_have_count(2)


@pytest.mark.req("IMP-16")
def test_a_run_that_its_thread_has_lost_is_repaired_from_its_page(
    dev: DevProcess, person: Desk, open_admin: OpenAdmin
) -> None:
    run = person.say("Pay 1 for what a restore forgot")
    tab = open_admin(f"runs/{run['runId']}")
    tab.expect_run("awaiting_input")
    with psycopg.connect(dev.ready()["databaseUrl"]) as database:
        forget = "UPDATE agent_threads SET live_run = NULL WHERE key = %s"
        assert database.execute(forget, [run["sessionId"]]).rowcount == 1

    tab.by("to-repair").click()
    tab.by("look").click()
    found = tab.by("finding")
    expect(found).to_have_count(1, timeout=FINISH_MS)
    expect(found).to_have_attribute("data-mended", "false")
    tab.by("mend").click()
    expect(found).to_have_attribute("data-mended", "true", timeout=FINISH_MS)
    expect(tab.by("mend")).to_have_count(0)
    expect(tab.by("tiles")).to_contain_text("all wellpostgres, schema, redis")
    expect(tab.by("tiles")).to_contain_text("Wire lag, at most")
    keep(tab, SHOTS, "admin-repair")

    tab.go(f"runs/{run['runId']}").by("approve").click()
    tab.expect_run("completed")
