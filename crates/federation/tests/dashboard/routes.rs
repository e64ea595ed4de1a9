//! Routes: who may take them, by which methods, with which headers.

use crate::hospitals::{Hospitals, RUN};
use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use axum::response::Response;
use federation::dashboard::{Metrics, RunEnd, RunPhase, SiteStatus, Token, Transport, router};
use std::sync::Arc;
use tokio_stream::StreamExt;
use tower::ServiceExt;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// The routes of the run that end, with the beginning of what they answer with.
const ROUTES: [(&str, &str); 8] = [
    ("", "text/html"),
    ("/fragment", "text/html"),
    ("/runs/RUN", "text/html"),
    ("/runs/RUN/fragment", "text/html"),
    ("/runs/RUN/posterior.json", "application/json"),
    ("/runs/RUN/manifest.json", "application/json"),
    ("/runs/RUN/report.html", "text/html"),
    ("/metrics", "application/openmetrics-text; version=1.0.0; charset=utf-8"),
];

/// Four hospitals after so many rounds, and their dashboard.
pub(crate) fn after(rounds: u64) -> (Arc<Hospitals>, Router) {
    let source = Arc::new(Hospitals::new(20));
    (0..rounds).for_each(|_| source.step());
    let token = Token::of_hex(TOKEN).unwrap();
    let router = router(source.clone(), Arc::new(Metrics::default()), token, Transport::Loopback);
    (source, router)
}

fn path(route: &str) -> String {
    if route.is_empty() { "/".into() } else { route.replace("RUN", RUN) }
}

async fn send(router: &Router, method: &str, path: &str, headers: &[(header::HeaderName, &str)]) -> Response {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(name, *value);
    }
    router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
}

/// As somebody who has the token.
pub(crate) async fn get(router: &Router, path: &str) -> Response {
    send(router, "GET", path, &[(header::AUTHORIZATION, &format!("Bearer {TOKEN}"))]).await
}

pub(crate) async fn text(response: Response) -> String {
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 24).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn every_route_answers_who_has_the_token() {
    let (_, router) = after(4);
    for (route, content) in ROUTES {
        let answer = get(&router, &path(route)).await;
        assert_eq!(answer.status(), StatusCode::OK, "{route}");
        let kind = answer.headers()[header::CONTENT_TYPE].to_str().unwrap().to_owned();
        assert!(kind.starts_with(content), "{route}: {kind}");
        assert!(text(answer).await.len() > 20, "{route}");
    }
    for path in ["/events".to_owned(), format!("/runs/{RUN}/events")] {
        let answer = get(&router, &path).await;
        assert_eq!(
            (answer.status(), &answer.headers()[header::CONTENT_TYPE]),
            (StatusCode::OK, &"text/event-stream".parse().unwrap())
        );
    }
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let (_, router) = after(1);
    let parts = ["", "/fragment", "/events", "/posterior.json", "/manifest.json", "/report.html"];
    let unknown = parts.iter().map(|part| format!("/runs/ffff{part}"));
    for path in unknown.chain(["/nothing".into(), format!("/runs/{RUN}/nothing"), "/runs/%3Cscript%3E".into()]) {
        let answer = get(&router, &path).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
        assert!(!text(answer).await.contains("<script>"), "{path} has nothing that it was asked with");
    }
}

#[tokio::test]
async fn nothing_but_health_is_shown_without_the_token() {
    let (_, router) = after(2);
    let others = ["/events", "/runs/RUN/events", "/login", "/login?token=", "/nothing", "/healthz/", "//healthz"];
    for route in ROUTES.iter().map(|(route, _)| *route).chain(others) {
        let answer = send(&router, "GET", &path(route), &[]).await;
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{route}");
        assert!(answer.headers()[header::WWW_AUTHENTICATE].to_str().unwrap().starts_with("Bearer"));
        let page = text(answer).await;
        assert!(
            page.contains("A token is needed") && !page.contains("helsinki") && !page.contains("Mortality"),
            "{route}"
        );
    }
    let wrong = [(header::AUTHORIZATION, "Bearer 00000000000000000000000000000000")];
    assert_eq!(send(&router, "GET", "/", &wrong).await.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn health_is_one_line_and_needs_no_token() {
    let (source, router) = after(2);
    let well = send(&router, "GET", "/healthz", &[]).await;
    assert_eq!((well.status(), text(well).await.as_str()), (StatusCode::OK, "ok"));
    source.set_healthy(false);
    let ill = send(&router, "GET", "/healthz", &[]).await;
    let said = "the store cannot be read\n";
    assert_eq!((ill.status(), text(ill).await.as_str()), (StatusCode::SERVICE_UNAVAILABLE, said));
}

#[tokio::test]
async fn only_get_and_head_are_answered() {
    let (_, router) = after(1);
    let bearer = format!("Bearer {TOKEN}");
    for route in ROUTES.iter().map(|(route, _)| *route).chain(["/healthz", "/login", "/nothing", "/events"]) {
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW"] {
            let target = if method == "CONNECT" { "localhost:1".into() } else { path(route) };
            for headers in [&[][..], &[(header::AUTHORIZATION, bearer.as_str())]] {
                let answer = send(&router, method, &target, headers).await;
                assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED, "{method} {route}");
                assert_eq!(answer.headers()[header::ALLOW], "GET, HEAD");
            }
        }
    }
    let head = send(&router, "HEAD", "/", &[(header::AUTHORIZATION, &bearer)]).await;
    assert_eq!((head.status(), text(head).await.as_str()), (StatusCode::OK, ""));
}

#[tokio::test]
async fn every_answer_has_its_headers() {
    let (_, router) = after(1);
    let bearer = format!("Bearer {TOKEN}");
    for (method, path, token) in [
        ("GET", "/", true),
        ("GET", "/", false),
        ("POST", "/", true),
        ("GET", "/x", true),
        ("GET", "/healthz", false),
        ("GET", "/events", true),
    ] {
        let headers = if token { vec![(header::AUTHORIZATION, bearer.as_str())] } else { vec![] };
        let answer = send(&router, method, path, &headers).await;
        let value = |name: &str| answer.headers().get(name).map(|value| value.to_str().unwrap()).unwrap_or_default();
        assert_eq!((value("x-frame-options"), value("referrer-policy")), ("DENY", "no-referrer"), "{method} {path}");
        assert_eq!(
            (value("cache-control"), value("x-content-type-options")),
            ("no-store", "nosniff"),
            "{method} {path}"
        );
        let policy = value("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; style-src 'sha256-") && policy.contains("frame-ancestors 'none'")
        );
        assert!(!policy.contains("unsafe") && !policy.contains('*') && !policy.contains("http"), "{policy}");
    }
}

#[tokio::test]
async fn a_login_gives_a_cookie_that_opens_and_takes_the_token_out_of_the_address() {
    let (_, router) = after(1);
    let answer = send(&router, "GET", &format!("/login?token={TOKEN}"), &[]).await;
    assert_eq!((answer.status(), &answer.headers()[header::LOCATION]), (StatusCode::SEE_OTHER, &"/".parse().unwrap()));
    let cookie = answer.headers()[header::SET_COOKIE].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && !cookie.contains(TOKEN), "{cookie}");
    let pair = cookie.split(';').next().unwrap();
    assert_eq!(send(&router, "GET", "/", &[(header::COOKIE, pair)]).await.status(), StatusCode::OK);
    for query in ["token=", "token=x", &format!("token={TOKEN}&a=b"), &format!("a=b&token={TOKEN}"), "token=%30"] {
        let answer = send(&router, "GET", &format!("/login?{query}"), &[]).await;
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{query}");
        assert!(answer.headers().get(header::SET_COOKIE).is_none());
    }
}

#[tokio::test]
async fn many_wrong_tokens_have_to_wait_and_the_right_one_has_not() {
    let (_, router) = after(1);
    let mut last = StatusCode::OK;
    for _ in 0..12 {
        last = send(&router, "GET", "/login?token=guess", &[]).await.status();
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(get(&router, "/").await.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_change_is_an_event_and_many_at_once_are_few() {
    let (source, router) = after(1);
    let mut events = get(&router, &format!("/runs/{RUN}/events")).await.into_body().into_data_stream();
    let mut next = async || String::from_utf8(events.next().await.unwrap().unwrap().to_vec()).unwrap();
    let first = next().await;
    assert!(first.contains("event: change") && first.contains("data: 1\n"), "{first}");
    source.step();
    assert!(next().await.contains("data: 2\n"));
    (0..18).for_each(|_| source.step());
    // The eighteen came within one pause: the event that follows has the last number.
    assert!(next().await.contains("data: 20\n"));
}

#[tokio::test]
async fn a_page_of_a_run_that_goes_wrong_says_so_in_words() {
    let (source, router) = after(3);
    source.change(|view| {
        view.sites[2].standing = SiteStatus::Frozen;
        view.sites[3].standing = SiteStatus::Revoked;
        view.sites[0].certificate_ends = Some(view.taken - 7200);
        view.sites[1].epsilon_spent = 2.5;
        view.sites[1].last_heard = Some(600);
        (view.nodes[1].failed_attempts, view.nodes[0].last_heard, view.watched) = (3, None, 7200);
        view.checks.replayed = Some(Err("fold 2".into()));
    });
    let page = text(get(&router, &format!("/runs/{RUN}")).await).await;
    let said = [
        "tampere is frozen",
        "oulu has spent more than it granted",
        "The certificate of turku was revoked",
        "The certificate of helsinki has expired",
        "1 site online, below the quorum of 3",
        "does not follow from the stored answers: fold 2",
        "</span> frozen",
        "3 attempts at a secure sum failed because of node-b.",
        "The server has not heard from oulu for 10 min.",
        "The server has not heard from node-a for 2 h.",
    ];
    for words in said {
        assert!(page.contains(words), "{words}");
    }
    source.change(|view| {
        view.phase = RunPhase::Finished("quorum lost".into());
        view.end = Some(RunEnd { outcome: "sum-failed".into(), member: Some("node node-b".into()) });
    });
    assert!(text(get(&router, "/").await).await.contains("finished: quorum lost"));
    let page = text(get(&router, &format!("/runs/{RUN}")).await).await;
    assert!(page.contains("The run ended because of node node-b.") && !page.contains("has not heard from"), "{page}");
    let metrics = text(get(&router, "/metrics").await).await;
    let ended = format!("posterity_run_ended{{run=\"{RUN}\",outcome=\"sum-failed\",member=\"node node-b\"}} 1\n");
    assert!(metrics.contains(&ended), "{metrics}");
}

#[tokio::test]
async fn a_certificate_that_has_ended_is_not_green_and_one_that_is_late_is_warned_of() {
    let (source, router) = after(3);
    let page = async || text(get(&router, &format!("/runs/{RUN}")).await).await;
    let good = page().await;
    assert_eq!(good.matches("standing online").count(), 4, "{good}");
    assert!(!good.contains("Warnings") && !good.contains("class=\"soon\""), "{good}");
    source.change(|view| {
        view.sites[0].certificate_ends = Some(view.taken);
        view.sites[1].certificate_ends = Some(view.taken + 40 * 3600);
        view.nodes[0].certificate_ends = Some(view.taken + 3 * 3600);
        view.nodes[1].certificate_ends = Some(view.taken - 1);
    });
    let shown = page().await;
    assert_eq!(
        (shown.matches("standing online").count(), shown.matches("standing expired").count()),
        (3, 1),
        "{shown}"
    );
    for words in [
        "3 of 4 online",
        "The certificate of helsinki has expired",
        "The certificate of oulu expires in 40 h and has not been renewed",
        "The certificate of node-a expires in 3 h and has not been renewed",
        "The certificate of node-b has expired",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}
