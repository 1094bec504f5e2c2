// load: an open-loop HTTP load generator. Requests are due at fixed times whatever the server does,
// and a latency counts from when its request was due, so a server that stalls cannot hide it
// (coordinated omission). One thread, epoll, keep-alive; it prints one line of JSON.
//
// load HOST PORT PATH BODIES [--answers FILE] [--connections N] [--rate R] [--seconds S]
//
// BODIES and the answers have one per line. Without --rate the loop is closed: every connection
// sends its next request at once, which finds the most that a server can do.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
    std::string host, path, bodies, answers;
    int port = 0;
    int connections = 64;
    double rate = 0;
    double seconds = 5;
};

struct Request {
    std::string bytes;
    std::string answer;
};

struct Results {
    std::vector<double> good;      // ms from when it was due
    std::vector<double> rejected;  // ms from when it was sent
    std::map<int, long> statuses;
    std::vector<long> per_second;
    long wrong = 0;
    long lost = 0;  // connections that ended while an answer was due
    long unsent = 0;
};

struct Link {
    int file = -1;
    const Request* request = nullptr;
    Clock::time_point due, sent;
    std::size_t written = 0;
    std::string in;
};

std::vector<std::string> lines_of(const std::string& path) {
    std::ifstream file(path);
    if (!file) {
        std::perror(path.c_str());
        std::exit(2);
    }
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) {
        lines.push_back(line);
    }
    return lines;
}

class Load {
public:
    explicit Load(Options options) : options_(std::move(options)), epoll_(epoll_create1(0)) {
        const auto bodies = lines_of(options_.bodies);
        const auto answers = options_.answers.empty() ? std::vector<std::string>(bodies.size())
                                                      : lines_of(options_.answers);
        for (std::size_t i = 0; i < bodies.size(); ++i) {
            const std::string head = "POST " + options_.path +
                                     " HTTP/1.1\r\nhost: " + options_.host +
                                     "\r\ncontent-type: application/json\r\n" +
                                     "content-length: " + std::to_string(bodies[i].size());
            requests_.push_back({head + "\r\n\r\n" + bodies[i], answers.at(i)});
        }
        links_.resize(static_cast<std::size_t>(options_.connections));
        for (Link& link : links_) {
            connect_link(link);
        }
    }

    Results run() {
        begin_ = Clock::now();
        end_ = begin_ + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(options_.seconds));
        results_.per_second.assign(static_cast<std::size_t>(options_.seconds) + 30, 0);
        while (Clock::now() < end_ || (busy_ != 0 && Clock::now() < end_ + kLate)) {
            send_due();
            wait();
        }
        results_.unsent = static_cast<long>(backlog_.size()) + busy_;
        return std::move(results_);
    }

private:
    static constexpr auto kLate = std::chrono::seconds(5);  // for answers that are still due

    void connect_link(Link& link) {
        link = {};
        link.file = socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address = {};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(options_.port));
        inet_pton(AF_INET, options_.host.c_str(), &address.sin_addr);
        while (connect(link.file, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
            if (errno != ECONNREFUSED || ++refused_ > 2000) {
                std::perror("connect");
                std::exit(1);
            }
            usleep(5000);  // a server that is being started again
        }
        const int one = 1;
        setsockopt(link.file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        fcntl(link.file, F_SETFL, O_NONBLOCK);
        epoll_event event = {};
        event.events = EPOLLIN | EPOLLOUT | EPOLLET;
        event.data.ptr = &link;
        epoll_ctl(epoll_, EPOLL_CTL_ADD, link.file, &event);
        free_.push_back(&link);
    }

    Clock::time_point due_time(long i) const {
        const std::chrono::duration<double> offset(static_cast<double>(i) / options_.rate);
        return begin_ + std::chrono::duration_cast<Clock::duration>(offset);
    }

    void send_due() {
        const auto now = Clock::now();
        if (now < end_) {
            if (options_.rate <= 0) {
                while (!free_.empty()) {
                    start(now);
                }
                return;
            }
            for (; due_time(next_) <= now; ++next_) {
                backlog_.push_back(due_time(next_));
            }
        }
        while (!free_.empty() && !backlog_.empty()) {
            start(backlog_.front());
            backlog_.pop_front();
        }
    }

    void start(Clock::time_point due) {
        Link& link = *free_.back();
        free_.pop_back();
        link.request = &requests_[static_cast<std::size_t>(started_++) % requests_.size()];
        link.due = due;
        link.sent = Clock::now();
        link.written = 0;
        link.in.clear();
        ++busy_;
        write_more(link);
    }

    void write_more(Link& link) {
        const std::string& bytes = link.request->bytes;
        while (link.written < bytes.size()) {
            const ssize_t sent = send(link.file, bytes.data() + link.written,
                                      bytes.size() - link.written, MSG_NOSIGNAL);
            if (sent < 0) {
                return;  // full, or ended: reading finds out
            }
            link.written += static_cast<std::size_t>(sent);
        }
    }

    void wait() {
        timespec pause = {0, 1000000};
        if (options_.rate > 0) {
            const auto rest = due_time(next_) - Clock::now();
            const long ns = std::chrono::duration_cast<std::chrono::nanoseconds>(rest).count();
            pause.tv_nsec = std::clamp(ns, 0L, 1000000L);
        }
        epoll_event events[256];
        const int count = epoll_pwait2(epoll_, events, 256, &pause, nullptr);
        for (int i = 0; i < count; ++i) {
            Link& link = *static_cast<Link*>(events[i].data.ptr);
            if ((events[i].events & EPOLLOUT) != 0 && link.request != nullptr) {
                write_more(link);
            }
            if ((events[i].events & ~static_cast<unsigned>(EPOLLOUT)) != 0) {
                read_more(link);
            }
        }
    }

    void read_more(Link& link) {
        for (;;) {
            const ssize_t got = recv(link.file, buffer_, sizeof buffer_, 0);
            if (got <= 0) {
                if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
                    lose(link);
                }
                return;
            }
            link.in.append(buffer_, static_cast<std::size_t>(got));
            if (finish(link)) {
                return;
            }
        }
    }

    void lose(Link& link) {
        if (link.request != nullptr) {
            ++results_.lost;
            --busy_;
        } else {
            free_.erase(std::find(free_.begin(), free_.end(), &link));
        }
        close(link.file);
        connect_link(link);
    }

    // Takes a whole answer, if it is there; true if the link was given up.
    bool finish(Link& link) {
        const std::size_t head = link.in.find("\r\n\r\n");
        if (head == std::string::npos || link.request == nullptr) {
            return false;
        }
        const std::size_t field = link.in.find("content-length: ");
        const std::size_t size = std::strtoul(link.in.c_str() + field + 16, nullptr, 10);
        if (link.in.size() < head + 4 + size) {
            return false;
        }
        const auto now = Clock::now();
        const int status = std::atoi(link.in.c_str() + 9);
        ++results_.statuses[status];
        const std::string& wanted = link.request->answer;
        if (status == 200) {
            results_.good.push_back(ms(now - link.due));
            const bool is_wrong = !wanted.empty() && link.in.compare(head + 4, size, wanted) != 0;
            results_.wrong += is_wrong ? 1 : 0;
            ++results_.per_second.at(static_cast<std::size_t>(ms(now - begin_) / 1000));
        } else {
            results_.rejected.push_back(ms(now - link.sent));
        }
        const bool ends = link.in.find("connection: close") < head;
        link.request = nullptr;
        --busy_;
        free_.push_back(&link);
        if (ends) {
            lose(link);
        }
        return ends;
    }

    static double ms(Clock::duration time) {
        return std::chrono::duration<double, std::milli>(time).count();
    }

    Options options_;
    int epoll_;
    std::vector<Request> requests_;
    std::vector<Link> links_;
    std::vector<Link*> free_;
    std::deque<Clock::time_point> backlog_;
    Clock::time_point begin_, end_;
    long next_ = 0, started_ = 0, busy_ = 0, refused_ = 0;
    Results results_;
    char buffer_[1 << 18];
};

void print_times(const char* name, std::vector<double>& times) {
    std::sort(times.begin(), times.end());
    const auto at = [&](double share) {
        const auto place = static_cast<std::size_t>(share * static_cast<double>(times.size()));
        return times.empty() ? 0.0 : times[std::min(place, times.size() - 1)];
    };
    std::printf(
        "\"%s\": {\"count\": %zu, \"p50_ms\": %.4f, \"p90_ms\": %.4f, \"p99_ms\": %.4f, "
        "\"p999_ms\": %.4f, \"max_ms\": %.4f}, ",
        name, times.size(), at(0.5), at(0.9), at(0.99), at(0.999), at(1));
}

// Seconds that this process was ready to run and another one had its CPU.
double waited_for_cpu() {
    std::ifstream file("/proc/self/schedstat");
    double ran = 0;
    double waited = 0;
    file >> ran >> waited;
    return waited * 1e-9;
}

void print(const Options& options, Results results, double cpu) {
    std::printf("{\"rate\": %.1f, \"connections\": %d, \"seconds\": %.1f, ", options.rate,
                options.connections, options.seconds);
    std::printf("\"per_s\": %.1f, ", static_cast<double>(results.good.size()) / options.seconds);
    print_times("good", results.good);
    print_times("rejected", results.rejected);
    std::printf("\"statuses\": {");
    const char* comma = "";
    for (const auto& [status, count] : results.statuses) {
        std::printf("%s\"%d\": %ld", comma, status, count);
        comma = ", ";
    }
    std::printf(
        "}, \"wrong\": %ld, \"lost\": %ld, \"unanswered\": %ld, \"cpu_share\": %.3f, "
        "\"waited_s\": %.4f, \"per_second\": [",
        results.wrong, results.lost, results.unsent, cpu / options.seconds, waited_for_cpu());
    for (std::size_t i = 0; i < static_cast<std::size_t>(options.seconds); ++i) {
        std::printf("%s%ld", i == 0 ? "" : ", ", results.per_second[i]);
    }
    std::printf("]}\n");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 5) {
        std::fprintf(stderr,
                     "load HOST PORT PATH BODIES [--answers FILE] [--connections N] "
                     "[--rate R] [--seconds S]\n");
        return 2;
    }
    Options options;
    options.host = argv[1];
    options.port = std::atoi(argv[2]);
    options.path = argv[3];
    options.bodies = argv[4];
    for (int i = 5; i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        if (name == "--answers") {
            options.answers = argv[i + 1];
        } else if (name == "--connections") {
            options.connections = std::atoi(argv[i + 1]);
        } else if (name == "--rate") {
            options.rate = std::atof(argv[i + 1]);
        } else if (name == "--seconds") {
            options.seconds = std::atof(argv[i + 1]);
        }
    }
    Results results = Load(options).run();
    rusage used = {};
    getrusage(RUSAGE_SELF, &used);
    const double cpu = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                       static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
    print(options, std::move(results), cpu);
    return 0;
}
